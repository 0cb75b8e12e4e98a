import { describe, expect, test } from "vitest";
import { EPISODE_FORMAT, type EpisodeRecord, parseEpisode, TEXT_MEMBERS } from "./episode.js";
import { groupOf, messagesOf, outcomeOf, renderEpisode } from "./episode-line.js";

const ANSWER = { observation: { count: 0 }, reward: null, done: false, ms: 1.5 };
const TOOL = {
  type: "function",
  function: { name: "step", description: "Adds.", parameters: { type: "object" } },
} as const;
const EPISODE = {
  format: EPISODE_FORMAT,
  episode: 0,
  environment: "counter_env",
  url: "http://localhost:8000",
  started_at: "2026-01-01T00:00:00.000Z",
  reset: { seed: 0 },
  start: ANSWER,
  steps: [{ action: { amount: 1 }, ...ANSWER, reward: 1, metadata: { note: "x" } }],
  failures: [{ kind: "step", after: 1, action: {}, code: "VALIDATION_ERROR", message: "no", ms: 1 }],
  total_reward: 1,
  end: "done",
  description: "Count.",
  tools: [TOOL],
} satisfies EpisodeRecord;

/** A line with these members, valid or not, those of the environment as JSON text. */
function lineOf(members: object): string {
  const texts = Object.entries(members).map(([name, value]) => {
    const isText = (TEXT_MEMBERS as readonly string[]).includes(name) && value !== undefined;
    return [name, isText ? JSON.stringify(value) : value];
  });
  return JSON.stringify(Object.fromEntries(texts));
}

describe("a recorded episode", () => {
  test("survives a round trip", () => {
    expect(parseEpisode(renderEpisode(EPISODE))).toEqual(EPISODE);
  });

  test("that was lost has no total reward, and its outcome is failed", () => {
    const lost: EpisodeRecord = { ...EPISODE, total_reward: null, end: "lost" };
    const line = renderEpisode(lost);
    expect(JSON.parse(line)).toMatchObject({ total_reward: null, end: "lost", outcome: "failed" });
    expect(parseEpisode(line)).toEqual(lost);
  });

  test("of the first version of the format is read", () => {
    const { description: _, tools: __, ...first } = EPISODE;
    expect(parseEpisode(JSON.stringify({ ...first, format: "openenv.episode/1" }))).toEqual(first);
  });

  test("has members of equal types in every line, whatever the environment", () => {
    const { failures: _, ...other } = EPISODE;
    const rest = { reset: { seed: 1, level: { name: "x" } }, total_reward: 0.5, tools: [], description: "" };
    const lines = [EPISODE, { ...other, ...rest }].map(renderEpisode);
    for (const line of lines) {
      expect(line).toMatch(/"total_reward":-?\d+\.\d+,/);
      const types = Object.entries(JSON.parse(line)).map(([name, value]) => `${name}: ${typeof value}`);
      expect(types.join(", ")).toBe(
        "format: string, episode: number, group_id: string, environment: string, url: string, started_at: string, " +
          "outcome: string, end: string, total_reward: number, num_steps: number, description: string, messages: object, " +
          "tools: string, reset: string, start: string, steps: string, failures: string",
      );
    }
  });

  test.each([
    ["{", /not valid JSON/],
    [`{"a":${"[".repeat(2000)}${"]".repeat(2000)}}`, /nested deeper than 1000 levels/],
    ["[]", /must be one JSON object/],
    [{ ...EPISODE, format: "other/2" }, /"format" must be "openenv.episode\/2", not "other\/2"/],
    [{ ...EPISODE, episode: -1 }, /"episode" is not a non-negative integer/],
    [{ ...EPISODE, url: 1 }, /"url" is not a string/],
    [{ ...EPISODE, start: undefined }, /"start" is not an object/],
    [{ ...EPISODE, steps: [{ ...EPISODE.steps[0], reward: "1" }] }, /"steps\[0\]\.reward" is not a number or null/],
    [{ ...EPISODE, steps: [{ ...EPISODE.steps[0], text: 1 }] }, /"steps\[0\]\.text" is not a string/],
    [{ ...EPISODE, steps: [{ ...EPISODE.steps[0], action: null }] }, /"steps\[0\]\.action" is not an object/],
    [
      { ...EPISODE, failures: [{ ...EPISODE.failures[0], after: -1 }] },
      /"failures\[0\]\.after" is not a non-negative integer/,
    ],
    [{ ...EPISODE, end: "crashed" }, /"end" is not one of/],
    [{ ...EPISODE, end: "lost" }, /"total_reward" is not null, although the episode was lost/],
    [{ ...EPISODE, total_reward: null }, /"total_reward" is not a number/],
    [{ ...EPISODE, description: 1 }, /"description" is not a string/],
    [{ ...EPISODE, tools: [{ type: "function" }] }, /"tools\[0\]\.function" is not an object/],
    [JSON.stringify({ format: EPISODE_FORMAT, reset: {} }), /"reset" is not JSON text/],
    [JSON.stringify({ format: EPISODE_FORMAT, steps: "[" }), /"steps" is not JSON text: it is not valid JSON/],
  ])("that is malformed is rejected with its invalid field: %j", (line, message) => {
    expect(() => parseEpisode(typeof line === "string" ? line : lineOf(line))).toThrow(message);
  });
});

describe("the messages of an episode", () => {
  const answer = (observation: object) => ({ ...ANSWER, observation: { ...observation } });
  const call = (given: object) => ({ type: "call_tool", tool_name: "add", arguments: given });

  test("are a prompt, and a tool call with its result for each step", () => {
    const start = answer({ count: 0, metadata: { note: "x" } });
    expect(messagesOf({ ...EPISODE, start })).toEqual([
      { role: "user", content: 'Count.\n\n{"count":0}' },
      {
        role: "assistant",
        content: "",
        tool_calls: [{ id: "call_0", type: "function", function: { name: "step", arguments: '{"amount":1}' } }],
      },
      { role: "tool", content: '{"count":0}', tool_call_id: "call_0", name: "step" },
    ]);
  });

  test("have the tool and the text of its result, or its error", () => {
    const texts = [
      { error: null, result: { data: 3, content: [{ type: "text", text: "three" }] } },
      { error: null, result: { data: { sum: 3 } } },
      { error: { message: "no" }, result: null },
    ].map((observation) => {
      const steps = [{ action: call({ a: 1 }), ...answer(observation) }];
      const [, said, result] = messagesOf({ ...EPISODE, start: answer({ text: "Go" }), steps });
      expect(said).toMatchObject({ tool_calls: [{ function: { name: "add", arguments: '{"a":1}' } }] });
      return result?.content;
    });
    expect(texts).toEqual(["three", '{"sum":3}', '{"error":"no"}']);
  });

  test("have the tool of a variant when the action is a union", () => {
    const parameters = { type: "object", properties: { sql: { type: "string" } }, required: ["sql"] };
    const tools = [{ type: "function" as const, function: { name: "query", description: "Runs SQL.", parameters } }];
    for (const [action, name, given] of [
      [{ kind: "query", sql: "a", metadata: {} }, "query", '{"sql":"a"}'],
      [{ kind: { toString: 1 }, sql: "a" }, "step", '{"kind":{"toString":1},"sql":"a"}'],
    ] as const) {
      const [, said] = messagesOf({ ...EPISODE, tools, steps: [{ action: { ...action }, ...answer({}) }] });
      expect(said).toMatchObject({ tool_calls: [{ function: { name, arguments: given } }] });
    }
  });

  test("are rendered for any values in a file", () => {
    const wordless = { toString: 1, toJSON: 1 };
    const action = { type: "call_tool", tool_name: wordless, arguments: [] };
    const steps = [{ action, ...answer({ error: { message: wordless } }) }];
    expect(messagesOf({ ...EPISODE, steps }).slice(1)).toMatchObject([
      { tool_calls: [{ function: { name: '{"toString":1,"toJSON":1}', arguments: "[]" } }] },
      { content: '{"error":{"toString":1,"toJSON":1}}' },
    ]);
  });

  test("belong to a group by environment and reset, if a seed or a task determines the start", () => {
    const group = (reset: object) => groupOf({ environment: "quiz_env", reset: { ...reset } });
    expect(group({ seed: 1, split: "train", episode_id: "a" })).toBe('quiz_env {"seed":1,"split":"train"}');
    expect(group({ split: "train", seed: 1, episode_id: "b" })).toBe(group({ seed: 1, split: "train" }));
    expect(group({ seed: 2 })).not.toBe(group({ seed: 1 }));
    expect(group({ level: 3 })).toBe("");
  });

  test("are of a failed episode when a request failed for another reason than an invalid action", () => {
    const failure = { kind: "step", after: 1, action: {}, message: "no", ms: 1 } as const;
    const outcome = (code: string, end: EpisodeRecord["end"] = "done") =>
      outcomeOf({ end, failures: [{ ...failure, code }] });
    expect(outcome("VALIDATION_ERROR")).toBe("terminated");
    expect(outcome("VALIDATION_ERROR", "max_steps")).toBe("truncated");
    expect([outcome("EXECUTION_ERROR"), outcome("SESSION_LOST", "policy")]).toEqual(["failed", "failed"]);
  });
});
