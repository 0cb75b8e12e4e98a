import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import {
  callCommand,
  createProject,
  type Project,
  startCommand,
} from "../../../../test-support/commands/command-line.js";
import { findPython } from "../../../../test-support/requirement.js";

/** Two servers are started, and Python loads pyarrow. */
vi.setConfig({ testTimeout: 300_000, hookTimeout: 180_000 });

const python = await findPython("datasets", { datasets: "5.2.0" });
const ENVS = join(import.meta.dirname, "../../../../envs");

const GUESSES = `
const words = ["crane", "slate", "pound", "might", "bevel"];
export default ({ random }) => ({ message: "[" + random.pick(words) + "]" });
`;

/** Prints what the files load as, in the order of the arguments. */
const LOAD = `
import json, sys
from datasets import load_dataset

kind, *files = sys.argv[1:]
rows = load_dataset(kind, data_files=files, split="train", cache_dir="cache-" + kind)
print(json.dumps({"types": {name: str(type) for name, type in rows.features.items()}, "rows": rows.to_list()}))
`;

interface Loaded {
  types: Record<string, string>;
  rows: Record<string, unknown>[];
}

describe.skipIf(!python.available)("episodes of several environments", () => {
  let project: Project;

  async function load(kind: "json" | "parquet", ...files: string[]): Promise<Loaded> {
    const options = {
      cwd: project.dir,
      env: { ...process.env, HF_HUB_OFFLINE: "1", HF_HOME: join(project.dir, "home") },
    };
    const { stdout } = await promisify(execFile)(python.path, ["-c", LOAD, kind, ...files], options);
    return JSON.parse(stdout);
  }

  async function collect(name: string, ...args: string[]): Promise<void> {
    const cwd = join(ENVS, name);
    await using server = startCommand(["serve", "--port", "0"], { cwd });
    const [, url = ""] = await server.printed(/at (http:\S+)/);
    const given = ["collect", url, "-n", "6", "--group-size", "3", "--max-steps", "4", "-o", `${name}.jsonl`, ...args];
    expect(await callCommand(given, { cwd: project.dir })).toMatchObject({ code: 0, stderr: "" });
  }

  beforeAll(async () => {
    project = await createProject({ "guesses.mjs": GUESSES });
    await collect("echo");
    await collect("wordle", "--policy", "guesses.mjs");
  });
  afterAll(() => project?.[Symbol.asyncDispose]());

  test("load together from JSON Lines, in any order, and from Parquet", async () => {
    const one = await load("json", "echo.jsonl", "wordle.jsonl");
    const other = await load("json", "wordle.jsonl", "echo.jsonl");
    expect(one.types).toEqual(other.types);
    expect([one.rows.length, other.rows.length]).toEqual([12, 12]);
    const exported = await callCommand(["export", "echo.jsonl", "wordle.jsonl", "--to", "parquet"], {
      cwd: project.dir,
    });
    expect(exported.code).toBe(0);
    const { types, rows } = await load("parquet", "episodes.parquet");
    const { messages: _, ...plain } = one.types;
    expect(types).toMatchObject(plain);
    expect(rows.map(({ total_reward, steps }) => [total_reward, steps])).toEqual(
      one.rows.map(({ total_reward, steps }) => [total_reward, steps]),
    );
    expect(new Set(rows.map(({ environment }) => environment))).toEqual(new Set(["echo_env", "wordle_env"]));
  });

  test("become messages with calls as objects, pairs, and starts", async () => {
    const files = ["echo.jsonl", "wordle.jsonl"];
    for (const form of ["trl-sft", "trl-preference", "trl-grpo"]) {
      expect((await callCommand(["export", ...files, "--to", form], { cwd: project.dir })).code).toBe(0);
    }
    const { rows: chats } = await load("parquet", "sft.parquet");
    expect(chats.at(-1)?.["messages"]).toMatchObject([
      { role: "user" },
      { role: "assistant", tool_calls: [{ type: "function", function: { name: "step", arguments: {} } }] },
      { role: "tool", name: "step" },
      ...Array.from({ length: 6 }, () => ({})),
    ]);
    const { rows: pairs } = await load("parquet", "preference.parquet");
    for (const { chosen_reward, rejected_reward } of pairs)
      expect(chosen_reward).toBeGreaterThan(Number(rejected_reward));
    expect(pairs.length).toBeGreaterThan(0);
    const { rows: starts } = await load("parquet", "grpo.parquet");
    expect(starts.map(({ environment, seed }) => [environment, seed])).toEqual(
      expect.arrayContaining(
        [0, 1].flatMap((seed) => [
          ["echo_env", seed],
          ["wordle_env", seed],
        ]),
      ),
    );
    expect(starts).toHaveLength(4);
  });
});
