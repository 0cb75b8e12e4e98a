import { expect, test } from "vitest";
import { barColumns } from "./reward-bars.js";

test("a pixel column has one bar, over all rewards of its steps", () => {
  const rewards = [null, 1, -2, 0.5, null, 3, 0];
  expect(barColumns(rewards, (step) => Math.floor(step / 4))).toEqual([
    { x: 0, low: -2, high: 1 },
    { x: 1, low: 0, high: 3 },
  ]);
});

test("a long episode has no more bars than the plot has pixels", () => {
  const rewards = Array.from({ length: 100_000 }, (_, step) => step % 7);
  expect(barColumns(rewards, (step) => Math.round(step * 0.003))).toHaveLength(301);
});
