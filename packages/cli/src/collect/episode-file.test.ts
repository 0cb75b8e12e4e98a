import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { EPISODE_FORMAT, type EpisodeRecord } from "../../../openenv/src/protocol/episode.js";
import { openEpisodeFile } from "./episode-file.js";

const folder = mkdtempSync(join(tmpdir(), "episode-file-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const file = join(folder, "episodes.jsonl");

function episode(number: number, text = "ü"): EpisodeRecord {
  return {
    format: EPISODE_FORMAT,
    episode: number,
    environment: "counter_env",
    url: "http://localhost:8000",
    started_at: "2026-01-01T00:00:00.000Z",
    reset: { seed: number },
    start: { observation: { text }, reward: null, done: false, ms: 1 },
    steps: [],
    total_reward: 0,
    end: "policy",
  };
}
const line = (number: number) => JSON.stringify(episode(number));

/** What an earlier run left, and what the file has after one more episode. */
function goOn(before: string) {
  writeFileSync(file, before);
  const opened = openEpisodeFile(file);
  opened.append(episode(9));
  opened.close();
  return { found: opened.found.map(({ episode }) => episode), after: readFileSync(file, "utf8") };
}

test.each([
  ["nothing", "", [], ""],
  ["whole lines", `${line(0)}\n${line(1)}\n`, [0, 1], `${line(0)}\n${line(1)}\n`],
  ["a line that was not finished", `${line(0)}\n${line(1).slice(0, 60)}`, [0], `${line(0)}\n`],
  ["one that was hardly begun", `${line(0)}\n{"fo`, [0], `${line(0)}\n`],
  ["a last line without an end", `${line(0)}\n${line(1)}`, [0, 1], `${line(0)}\n${line(1)}\n`],
])("a file with %s is gone on with", (_, before, found, kept) => {
  expect(goOn(before)).toEqual({ found, after: `${kept}${line(9)}\n` });
});

test.each(["a letter to my mother", `${line(0)}\nnotes`, "[1, 2]\n", "\n"])(
  "a line that is not a valid episode is left alone: %j",
  (before) => {
    expect(() => goOn(before)).toThrow(/is not a valid episode: .* move the file away/);
    expect(readFileSync(file, "utf8")).toBe(before);
  },
);

test("lines longer than what is read at once are read whole", () => {
  const long = JSON.stringify(episode(0, "ü".repeat(1_500_000)));
  expect(goOn(`${long}\n${long.replace('"episode":0', '"episode":1')}\n`).found).toEqual([0, 1]);
});

test("an episode that cannot be written is an error, as is a file that is none", () => {
  const closed = openEpisodeFile(join(folder, "closed.jsonl"));
  closed.close();
  expect(() => closed.append(episode(0))).toThrow("closed.jsonl cannot be written");
  expect(() => openEpisodeFile(folder)).toThrow("cannot be read");
  expect(() => openEpisodeFile(join(folder, "none/x.jsonl"))).toThrow(/There is no folder .*none; make it/);
  expect(existsSync(join(folder, "none"))).toBe(false);
});
