import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { EPISODE_FORMAT, type EpisodeRecord } from "../../../openenv/src/protocol/episode.js";
import { renderEpisode } from "../../../openenv/src/protocol/episode-line.js";
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
const line = (number: number) => renderEpisode(episode(number));

/** The episodes that are found in the file, and its content after one more episode. */
function appendTo(before: string) {
  writeFileSync(file, before);
  const opened = openEpisodeFile(file);
  opened.append(episode(9));
  opened.close();
  return { found: opened.found.map(({ episode }) => episode), after: readFileSync(file, "utf8") };
}

test.each([
  ["nothing", "", [], ""],
  ["complete lines", `${line(0)}\n${line(1)}\n`, [0, 1], `${line(0)}\n${line(1)}\n`],
  ["an incomplete last line", `${line(0)}\n${line(1).slice(0, 60)}`, [0], `${line(0)}\n`],
  [
    "an incomplete last line of the first version",
    `${line(0)}\n{"format":"openenv.episode/1","ep`,
    [0],
    `${line(0)}\n`,
  ],
  ["the start of a line", `${line(0)}\n{"fo`, [0], `${line(0)}\n`],
  ["a last line without a newline", `${line(0)}\n${line(1)}`, [0, 1], `${line(0)}\n${line(1)}\n`],
])("a file with %s can be continued", (_, before, found, kept) => {
  expect(appendTo(before)).toEqual({ found, after: `${kept}${line(9)}\n` });
});

test.each(["a letter to my mother", `${line(0)}\nnotes`, "[1, 2]\n", "\n"])(
  "a file with an invalid line is rejected and not changed: %j",
  (before) => {
    expect(() => appendTo(before)).toThrow(/is not a valid episode: .* move the file/);
    expect(readFileSync(file, "utf8")).toBe(before);
  },
);

test("lines longer than the read buffer are read completely", () => {
  const long = renderEpisode(episode(0, "ü".repeat(1_500_000)));
  expect(appendTo(`${long}\n${long.replace('"episode":0', '"episode":1')}\n`).found).toEqual([0, 1]);
});

test("a file that cannot be written or read is an error", () => {
  const closed = openEpisodeFile(join(folder, "closed.jsonl"));
  closed.close();
  expect(() => closed.append(episode(0))).toThrow(/^Cannot write .*closed\.jsonl: /);
  expect(() => openEpisodeFile(folder)).toThrow(/^Cannot read /);
  expect(() => openEpisodeFile(join(folder, "none/x.jsonl"))).toThrow(/No such folder: .*none\. Create it/);
  expect(existsSync(join(folder, "none"))).toBe(false);
});
