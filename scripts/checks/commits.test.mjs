import { expect, test } from "vitest";
import { judge } from "./commits.mjs";

test.each([
  "fix(server): refuse a second reset",
  "feat: process steps",
  "refactor(client)!: need no token",
  "Merge branch 'x'",
])("%s is a good subject", (subject) => expect(judge(subject)).toEqual([]));

test.each([
  ["fix(server): sessions keep their slot", 'does not begin with a verb in the imperative: "sessions"'],
  ["fix: added a test", 'does not begin with a verb in the imperative: "added"'],
  ["docs: the guide", 'does not begin with a verb in the imperative: "the"'],
  ["Add a test", "is not `type(scope): imperative subject`"],
  ["fix: end sessions; add a test", "joins two changes"],
  [`fix: add ${"x".repeat(64)}`, "has 73 characters, 72 is the limit"],
])("%s is reported", (subject, problem) => {
  expect(judge(subject)).toEqual([`The commit "${subject}" ${problem}.`]);
});
