import type { EpisodeRow, RolloutEvent } from "openenv-ts/protocol";
import { expect, test } from "vitest";
import { align, conditionsOf, equalInWords, nextDifference, rowsOf } from "./align.js";
import { branchesOf } from "./branches.js";

/** The reset, and a step for each letter. */
function events(letters: string): RolloutEvent[] {
  return ["", ...letters].map((letter, event) => ({
    event,
    type: event === 0 ? "reset" : "step",
    at: event,
    ms: 1,
    request: event === 0 ? { seed: 1 } : { message: letter },
    answer: { observation: { said: letter }, reward: 0, done: false },
    reward: 0,
    components: null,
    tool: null,
    error: null,
    view: null,
    sameAs: null,
  }));
}

const row = (id: string, given: Partial<EpisodeRow> = {}) =>
  ({ id, seed: 1, task: null, env: "e", version: "1", policy: null, ...given }) as EpisodeRow;

test("equal steps are one line, and the first difference is found", () => {
  const pairs = align(events("abcxe"), events("abdxefg"));
  expect(rowsOf(pairs, false).map((line) => (line.kind === "equal" ? [line.from, line.to] : line.pair.number))).toEqual(
    [[0, 2], 3, [4, 5], 6, 7],
  );
  expect(pairs[3]?.diff?.changes.map(({ path }) => path)).toEqual(["action.message", "observation.said"]);
  expect([nextDifference(pairs, -1, 1), nextDifference(pairs, 3, 1), nextDifference(pairs, 6, -1)]).toEqual([3, 6, 3]);
  expect(nextDifference(align(events("ab"), events("ab")), -1, 1)).toBeUndefined();
  expect(rowsOf(pairs, true)).toHaveLength(8);
});

test.each([
  [0, 0, "The reset is equal"],
  [0, 1, "Reset and step 1 are equal"],
  [0, 2, "Reset and steps 1 to 2 are equal"],
  [4, 4, "Step 4 is equal"],
  [4, 6, "Steps 4 to 6 are equal"],
])("events %i to %i: %s", (from, to, words) => {
  expect(equalInWords(from, to)).toBe(words);
});

test("what makes two episodes less comparable is said", () => {
  const played = (id: string, given: Partial<EpisodeRow> = {}, eventCount = 3) => {
    return { row: row(id, given), events: events("ab"), eventCount };
  };
  expect(conditionsOf(played("a", { policy: 180 }), played("b", { policy: 240 }))).toEqual({
    facts: ["same seed 1", "same environment e 1", "policies of step 180 and step 240"],
    warnings: [],
  });
  const { warnings } = conditionsOf(played("a"), played("b", { seed: 2, version: "2" }, 9));
  expect(warnings).toEqual([
    expect.stringContaining("aligned by number only"),
    expect.stringContaining("e 1, B in e 2"),
    "Only the first 3 events of B are compared.",
  ]);
});

test("the tree joins each episode where it parts from another, without crossing lines", () => {
  const played = ["abcd", "abx", "abcdz", "q", "abcy"].map((letters, at) => {
    return { row: row(String(at)), events: events(letters), eventCount: letters.length + 1 };
  });
  const branches = branchesOf([...played, { row: row("other"), events: [], eventCount: 3 }]);
  expect(branches.map(({ from }) => from)).toEqual([
    null,
    { branch: 0, step: 2 },
    { branch: 0, step: 4 },
    { branch: 0, step: 0 },
    { branch: 0, step: 3 },
    null,
  ]);
  expect(branches.map(({ x }) => x)).toEqual([0, 3, 1, 4, 2, 5]);
});
