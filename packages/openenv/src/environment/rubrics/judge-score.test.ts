import fc from "fast-check";
import { expect, test } from "vitest";
import { parseScore } from "./judge-score.js";

test.each([
  ["7/10", 0.7],
  ["0.7", 0.7],
  ["1", 1],
  ["0", 0],
  [" .5\n", 0.5],
  ["1.", 1],
  ["70%", 0.7],
  ["70 %", 0.7],
  ["7 out of 10", 0.7],
  ["I would give this 7 / 10.", 0.7],
  ["3.5/5", 0.7],
  ["1e-1", 0.1],
  ["Score: 0.8", 0.8],
  ["Score (0-1): 0.8", 0.8],
  ["**Score:** 8/10", 0.8],
  ['{"score": 0.8, "confidence": 0.3}', 0.8],
  ['{"final_score":"0.8"}', 0.8],
  ["3 of 5 tests pass, 2 do not.\n\nRating: 60%", 0.6],
  ["Step 1 was good, step 2 as well. Score = 1", 1],
  ["<think>maybe 0.2? no, 0.9</think>0.6", 0.6],
  ["0.5 … so 0.5", 0.5],
])("%j has the score %s", (reply, score) => {
  expect(parseScore(reply)).toBeCloseTo(score, 12);
});

test.each([
  "",
  "I cannot judge that.",
  "8",
  "11/10",
  "-0.5",
  "120%",
  "7/0",
  "0/0",
  "0,8",
  "between 0.2 and 0.4",
  "0.2-0.4",
  "Score: 8",
  "Score: 0.2. On second thought, Score: 0.9",
  "A score of 1 would be perfect, I give 0.7",
  "<think>it is 0.9, I am sure",
  "v1beta",
  "2024-01-01",
  "12:30",
  "NaN",
])("%j has no score", (reply) => {
  expect(parseScore(reply)).toBeUndefined();
});

test("a score is always between 0 and 1", () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(..."0123456789./%-e Score:of\n") }), (reply) => {
      const score = parseScore(reply) ?? 0;
      expect(score).toBeGreaterThanOrEqual(0);
      expect(score).toBeLessThanOrEqual(1);
    }),
  );
});

test.each(["1".repeat(200_000), `score:${" ".repeat(200_000)}`, "<think>".repeat(30_000), "1 ".repeat(100_000)])(
  "a malicious reply is parsed in linear time",
  (reply) => {
    parseScore(reply);
  },
);
