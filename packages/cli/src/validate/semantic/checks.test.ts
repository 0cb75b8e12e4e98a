import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { OTHERS, useSemanticChecks, VALIDATION } from "../../../../../test-support/commands/semantic-checks.js";
import { createDoor } from "../../../../../test-support/environments/door-package.js";
import { saveCanary } from "./canaries.js";
import type { StudiedEpisode } from "./world.js";

const check = useSemanticChecks();

/** `play` counts the paid plays of a task. */
test.each<[string, string, boolean, string[]]>([
  ["within the declared variance", "play % 2 === 0 ? 0 : 0.05", false, []],
  ["beyond the declared variance", "play % 2 === 0 ? 0 : 0.25", false, ["by 0.25, more than the declared 0.1"]],
  ["that a model shows in one of ten plays", "play === 10 ? 0.25 : 0", true, ["by 0.25, more than the declared 0.1"]],
])("a reward with noise %s", async (_, noise, isJudged, found) => {
  const counted = `const plays = new Map();
    const noise = (code) => {
      const play = (plays.get(code) ?? 0) + 1;
      plays.set(code, play);
      return ${noise};
    };`;
  await using project = await createDoor('""', {
    'isOpen || pressed.slice(-3).join() === "left,up,right" ? 1 : 0': "isOpen ? 1 - noise(code) : 0",
    "export default": `${counted}\nexport default`,
  });
  const reward = { range: [0, 1], oracle_tolerance: 0.3, floor_margin: 0.1, variance_tolerance: 0.1 };
  const capabilities = { ...VALIDATION.capabilities, llm_judged: isJudged };
  const validation = { ...VALIDATION, reward, capabilities } as typeof VALIDATION;
  const { failed, passed } = await check(project.dir, { validation, leaveOut: ["canary_floor"] });
  expect(failed).toEqual(found.map((detail) => ["verifier_determinism", expect.stringContaining(detail)]));
  const repeating = ["verifier_determinism", "replayability", "isolated"];
  expect(passed).toEqual(expect.arrayContaining(found.length > 0 ? [] : repeating));
});

describe("the reward of one task of five", () => {
  const trick = 'code === 116 && action.press === "up"';
  /** The door of seed 9 is worth less than the others. */
  const cheap = `isOpen ? (code === 116 ? 0.5 : 1) : ${trick} ? 0.5 : 0`;
  const PAID = 'isOpen || pressed.slice(-3).join() === "left,up,right" ? 1 : 0';
  test.each<[string, string, string, string, RegExp]>([
    [
      "doing nothing",
      "pressed: 0 } };",
      "pressed: 0 }, reward: code === 116 ? 1 : 0 };",
      "floor_gap",
      /seed 9 .*only 0/,
    ],
    ["the same action", PAID, `isOpen || (${trick}) ? 1 : 0`, "trivial_floor", /repeated actions earn 1 with seed 9/],
    ["a canary", PAID, cheap, "canary_floor", /line 1 earns 0.5/],
  ])("is not for %s", async (_, from, to, id, detail) => {
    await using project = await createDoor('""', { [from]: to });
    const action = { press: "up" };
    saveCanary(join(project.dir, "validation/canaries.jsonl"), {
      ...{ case: { name: "", task: {}, reset: { seed: 9 } }, reset: { data: {} }, refused: [], state: {} },
      ...{ steps: [{ request: action, data: { reward: 0.5, done: true } }], total: 0.5, done: true },
    } as unknown as StudiedEpisode);
    const { failed } = await check(project.dir, { leaveOut: OTHERS.filter((name) => name !== id) });
    expect(failed).toEqual([[id, expect.stringMatching(detail)]]);
  });

  test.each<[string, Record<string, string>]>([
    ["is the answer of the oracle", { "export const solved": "const solved" }],
    [
      "solves it, as the module of the oracle says",
      { '{ press: "open", code: ': '{ ...{ code: 0, press: "open" }, code: ' },
    ],
  ])("may be for an action that %s", async (_, more) => {
    await using project = await createDoor('""', {
      ...{ '"up", "down"': '"open", "down"', '"right", "open"': '"right", "up"', ".default(0)": "" },
      ...{ "int(100, 120)": "int(1, 5)", "isOver ||= reward > 0": "isOver = true", ...more },
    });
    const { failed, passed } = await check(project.dir, {
      leaveOut: OTHERS.filter((name) => name !== "trivial_floor"),
    });
    expect(failed).toEqual([]);
    expect(passed).toContain("trivial_floor");
  });
});
