import { expect, test } from "vitest";
import { withRest } from "./signed-bars.js";

test("parts of a reward add up to it", () => {
  const parts = [["tone", 0.1] as const, ["resolved", -0.6] as const];
  expect(withRest(parts, -0.5)).toEqual(parts);
  expect(withRest(parts, 0.25)).toEqual([...parts, ["other", 0.75]]);
  expect(withRest(parts, null)).toEqual(parts);
  const many = Array.from({ length: 60 }, (_, at) => [`part ${at}`, 1] as const);
  expect(withRest(many, 60).at(-1)).toEqual(["other", 10]);
});
