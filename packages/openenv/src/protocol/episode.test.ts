import { describe, expect, test } from "vitest";
import { EPISODE_FORMAT, parseEpisode } from "./episode.js";

const ANSWER = { observation: { count: 0 }, reward: null, done: false, ms: 1.5 };
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
};

describe("a recorded episode", () => {
  test("survives a round trip", () => {
    expect(parseEpisode(JSON.stringify(EPISODE))).toEqual(EPISODE);
  });

  test.each([
    ["{", /not valid JSON/],
    [`{"a":${"[".repeat(2000)}${"]".repeat(2000)}}`, /nested deeper than 1000 levels/],
    ["[]", /must be one JSON object/],
    [{ ...EPISODE, format: "other/2" }, /"format" must be "openenv.episode\/1", not "other\/2"/],
    [{ ...EPISODE, episode: -1 }, /"episode" is not a non-negative integer/],
    [{ ...EPISODE, url: 1 }, /"url" is not a string/],
    [{ ...EPISODE, start: undefined }, /"start" is not an object/],
    [{ ...EPISODE, steps: [{ ...EPISODE.steps[0], reward: "1" }] }, /"steps\[0\]\.reward" is not a number or null/],
    [{ ...EPISODE, steps: [{ ...EPISODE.steps[0], action: null }] }, /"steps\[0\]\.action" is not an object/],
    [
      { ...EPISODE, failures: [{ ...EPISODE.failures[0], after: -1 }] },
      /"failures\[0\]\.after" is not a non-negative integer/,
    ],
    [{ ...EPISODE, end: "crashed" }, /"end" is not one of/],
  ])("that is malformed is rejected with its invalid field: %j", (line, message) => {
    expect(() => parseEpisode(typeof line === "string" ? line : JSON.stringify(line))).toThrow(message);
  });
});
