import { expect, test } from "vitest";
import { barColumns } from "./reward-bars.js";

test("a column has the mean of the rewards of its steps and their range", () => {
  const rewards = [null, 1, -2, 0.5, null, 3, 0];
  expect(barColumns(rewards, (step) => Math.floor(step / 4))).toEqual([
    { x: 0, low: -2, high: 1, mean: expect.closeTo(-1 / 6) },
    { x: 1, low: 0, high: 3, mean: 1.5 },
  ]);
});

test("a long episode has no more bars than the plot has pixels", () => {
  const rewards = Array.from({ length: 100_000 }, (_, step) => step % 7);
  expect(barColumns(rewards, (step) => Math.round(step * 0.003))).toHaveLength(301);
});
