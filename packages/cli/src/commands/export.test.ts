import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { type AsyncBuffer, asyncBufferFromFile, parquetMetadataAsync, parquetReadObjects } from "hyparquet";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { callCommand, createProject, type Project } from "../../../../test-support/commands/command-line.js";
import { EPISODE_FORMAT, type EpisodeRecord } from "../../../openenv/src/protocol/episode.js";
import { renderEpisode } from "../../../openenv/src/protocol/episode-line.js";

const answer = (observation: object, reward: number | null = null) => ({
  observation: { ...observation },
  reward,
  done: false,
  ms: 1,
});
const FAILURE = { kind: "step", after: 1, action: {}, code: "SESSION_LOST", message: "gone", ms: 1 } as const;

function episode(number: number, seed: number, rewards: (number | null)[], more: Partial<EpisodeRecord> = {}) {
  const record: EpisodeRecord = {
    format: EPISODE_FORMAT,
    episode: number,
    environment: "counter_env",
    url: "http://localhost:8000",
    started_at: "2026-01-01T00:00:00.000Z",
    reset: { seed, level: "easy" },
    start: answer({ count: 0 }),
    steps: rewards.map((reward, index) => ({ action: { amount: index + number }, ...answer({ count: 1 }, reward) })),
    total_reward: rewards.reduce<number>((sum, reward) => sum + (reward ?? 0), 0),
    end: "done",
    description: "Count.",
    tools: [{ type: "function", function: { name: "step", description: "Adds.", parameters: { type: "object" } } }],
    ...more,
  };
  return record;
}

/** Two groups with different rewards, one with equal ones, and one episode for each reason to leave it out. */
const COUNTED = [
  episode(0, 1, [0, 1]),
  episode(1, 1, [0]),
  episode(2, 1, [0.5]),
  episode(3, 2, [1]),
  episode(4, 2, [1]),
  episode(5, 3, [1]),
  episode(6, 4, []),
  episode(7, 1, [9], { failures: [FAILURE] }),
  episode(8, 1, [7], { reset: { level: "easy" } }),
  episode(9, 1, [8], { start: answer({ count: 5 }) }),
];
/** With options that do not fit the types of their columns. */
const ODD = [episode(0, 1, [1], { reset: { seed: 0.25, split: 1, index: 0.5 } })];
const TALKED = [0, 1].map((number) =>
  episode(number, 1, [null], {
    environment: "talk_env",
    end: "max_steps",
    start: answer({ text: "Hi" }),
    steps: [
      {
        action: { type: "call_tool", tool_name: "say", arguments: { words: ["ü", number] } },
        ...answer({ tool_name: "say", error: null, result: { data: "said" } }, number),
      },
    ],
    total_reward: number,
  }),
);

let project: Project;
const linesOf = (episodes: EpisodeRecord[]) => episodes.map((one) => `${renderEpisode(one)}\n`).join("");
const run = (...args: string[]) => callCommand(["export", ...args], { cwd: project.dir });

/** The rows of a file, as another library reads them. */
async function read(name: string): Promise<Record<string, unknown>[]> {
  const file: AsyncBuffer = await asyncBufferFromFile(join(project.dir, name));
  return (await parquetReadObjects({ file })) as Record<string, unknown>[];
}

beforeAll(async () => {
  project = await createProject({
    "counted.jsonl": linesOf(COUNTED),
    "talked.jsonl": linesOf(TALKED),
    "odd.jsonl": linesOf(ODD),
    "empty.jsonl": "",
    "other.jsonl": `${renderEpisode(episode(0, 1, [1]))}\n{"format":"other/1"}\n`,
    "text.jsonl": "a letter to my mother\n",
    "failed.jsonl": linesOf([episode(0, 1, [1], { failures: [FAILURE] })]),
  });
});
afterAll(() => project?.[Symbol.asyncDispose]());

describe("openenv export", () => {
  test("writes all columns of several environments to Parquet, also of failed episodes", async () => {
    const { code, stdout } = await run("counted.jsonl", "talked.jsonl", "--to", "parquet", "--json");
    expect([code, JSON.parse(stdout)]).toEqual([
      0,
      { output: "episodes.parquet", to: "parquet", episodes: 12, rows: 12, dropped: {} },
    ]);
    const rows = await read("episodes.parquet");
    expect(rows.map(({ outcome }) => outcome)).toEqual([
      ...Array.from({ length: 7 }, () => "terminated"),
      "failed",
      ...["terminated", "terminated", "truncated", "truncated"],
    ]);
    expect(rows[1]).toMatchObject({ episode: 1n, num_steps: 1n, total_reward: 0, reset: '{"seed":1,"level":"easy"}' });
    expect(rows[11]).toMatchObject({
      group_id: 'talk_env {"level":"easy","seed":1}',
      total_reward: 1,
      messages: [
        { role: "user", content: "Count.\n\nHi" },
        {
          role: "assistant",
          tool_calls: [{ id: "call_0", function: { name: "say", arguments: '{"words":["ü",1]}' } }],
        },
        { role: "tool", content: "said", tool_call_id: "call_0" },
      ],
    });
    const columns = Object.keys(rows[0] ?? {});
    expect(columns).toEqual(Object.keys(JSON.parse(renderEpisode(episode(0, 1, [])))));
  });

  test("writes what SFTTrainer trains on, and counts what it leaves out", async () => {
    const { code, stdout } = await run("counted.jsonl", "talked.jsonl", "--to", "trl-sft", "--min-reward", "0.5");
    expect([code, stdout]).toEqual([
      0,
      "sft.parquet: 8 rows of 12 episodes (left out: 3 below --min-reward, 1 failed)\n",
    ]);
    const rows = await read("sft.parquet");
    expect(rows.at(-1)).toEqual({
      messages: [
        { role: "user", content: "Count.\n\nHi" },
        {
          role: "assistant",
          content: "",
          tool_calls: [{ id: "call_0", type: "function", function: { name: "say", arguments: { words: ["ü", 1] } } }],
        },
        { role: "tool", content: "said", tool_call_id: "call_0", name: "say" },
      ],
      tools: JSON.stringify(COUNTED[0]?.tools),
      tools_list: COUNTED[0]?.tools,
      environment: "talk_env",
      group_id: 'talk_env {"level":"easy","seed":1}',
      total_reward: 1,
    });
  });

  test("pairs the best and the worst episode of each start", async () => {
    const { code, stdout } = await run("counted.jsonl", "talked.jsonl", "--to", "trl-preference", "--json");
    expect([code, JSON.parse(stdout)]).toMatchObject([
      0,
      {
        episodes: 12,
        rows: 2,
        dropped: {
          failed: 1,
          "without steps": 1,
          "without a seed or task": 1,
          "neither best nor worst of their group": 1,
          "equal rewards in their group": 2,
          // Another first observation is another start, whatever the seed.
          "alone in their group": 2,
        },
      },
    ]);
    const rows = await read("preference.parquet");
    expect(rows.map(({ chosen_reward, rejected_reward }) => [chosen_reward, rejected_reward])).toEqual([
      [1, 0],
      [1, 0],
    ]);
    const says = (amount: number) => [{ tool_calls: [{ function: { name: "step", arguments: { amount } } }] }];
    expect(rows[0]).toMatchObject({
      prompt: [{ role: "user", content: 'Count.\n\n{"count":0}' }],
      chosen: [...says(0), { role: "tool" }, ...says(1), { role: "tool" }],
      rejected: [...says(1), { role: "tool" }],
    });
    const none = await run("counted.jsonl", "--to", "trl-preference", "--min-reward", "2", "-o", "none.parquet");
    expect([none.code, none.stderr]).toEqual([1, expect.stringContaining("3 below --min-reward")]);
  });

  test("writes each start once for GRPO, with the columns that a reset takes", async () => {
    const { stdout } = await run("counted.jsonl", "--to", "trl-grpo");
    expect(stdout).toBe(
      "grpo.parquet: 4 rows of 10 episodes (left out: 4 the start of an earlier episode, 1 failed, 1 without a seed or task)\n",
    );
    const [row] = await read("grpo.parquet");
    expect(row).toEqual({
      prompt: [{ role: "user", content: "Count.\n\n" }],
      seed: 1n,
      split: null,
      index: null,
      reset_options: '{"level":"easy"}',
      environment: "counter_env",
    });
    expect((await run("odd.jsonl", "--to", "trl-grpo", "-o", "odd.parquet")).code).toBe(0);
    expect(await read("odd.parquet")).toMatchObject([
      { seed: null, split: null, index: null, reset_options: '{"seed":0.25,"split":1,"index":0.5}' },
    ]);
  });

  test("writes the traces of verifiers", async () => {
    expect(await run("talked.jsonl", "--to", "verifiers")).toMatchObject({ code: 0 });
    const lines = readFileSync(join(project.dir, "traces.jsonl"), "utf8").trimEnd().split("\n");
    const [, last] = lines.map((line) => JSON.parse(line));
    expect(last).toMatchObject({
      env: { id: "talk_env" },
      ok: true,
      group: { id: expect.stringContaining("talk_env") },
    });
    expect(last.traces[0]).toMatchObject({
      rewards: { openenv_reward: { score: 1 } },
      stop_condition: "max_turns",
      nodes: [{ parent: null }, { parent: 0, sampled: true }, { parent: 1, sampled: false }],
    });
  });

  test("writes rows in groups, so that few are in memory", async () => {
    await project.write("many.jsonl", linesOf(Array.from({ length: 2500 }, (_, number) => episode(number, 1, [1]))));
    expect((await run("many.jsonl", "--to", "parquet", "-o", "many.parquet")).code).toBe(0);
    const metadata = await parquetMetadataAsync(await asyncBufferFromFile(join(project.dir, "many.parquet")));
    expect(metadata.row_groups.map(({ num_rows }) => Number(num_rows))).toEqual([1000, 1000, 500]);
    expect((await read("many.parquet")).map(({ episode }) => Number(episode))).toEqual(
      Array.from({ length: 2500 }, (_, number) => number),
    );
  });

  test.each([
    [["text.jsonl"], /^error: text\.jsonl:1 is not a valid episode: it is not valid JSON/],
    [["counted.jsonl", "other.jsonl"], /^error: other\.jsonl:2 is not a valid episode: "format" must be /],
    [["empty.jsonl"], /^error: empty\.jsonl has no episodes/],
    [["missing.jsonl"], /^error: No such file: missing\.jsonl/],
    [["counted.jsonl", "-o", "counted.jsonl"], /^error: counted\.jsonl is one of the files to export/],
    [["counted.jsonl", "-o", "."], /^error: \. is not a file/],
    [["counted.jsonl", "-o", "none/x.parquet"], /^error: No such folder: none/],
    [["counted.jsonl", "--to", "csv"], /Allowed choices are parquet, trl-sft/],
    [["counted.jsonl", "--min-reward", "much"], /Must be a number/],
  ])("explains in one line what is wrong with %j, and leaves no file", async (args, message) => {
    const before = readdirSync(project.dir);
    const { code, stdout, stderr } = await run("--to", "trl-sft", "-o", "wrong.parquet", ...args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toMatch(message);
    expect(stderr.trim().split("\n")).toHaveLength(1);
    expect(readdirSync(project.dir)).toEqual(before);
    expect(statSync(join(project.dir, "counted.jsonl")).size).toBe(Buffer.byteLength(linesOf(COUNTED)));
  });

  test("writes nothing when no episode is left", async () => {
    expect(await run("failed.jsonl", "--to", "trl-sft", "-o", "none.parquet")).toEqual({
      code: 1,
      stdout: "",
      stderr: "error: none.parquet was not written: no row is left of 1 episodes (left out: 1 failed).\n",
    });
    expect(existsSync(join(project.dir, "none.parquet"))).toBe(false);
  });
});
