import { expect, test } from "vitest";
import { brushOf, quantileOf, rangeOfBrush } from "./brush.js";

const bins = (edges: readonly number[], all = 1) =>
  edges.slice(1).map((to, at) => ({ from: edges[at] as number, to, all, matching: all }));
const REWARDS = bins([-0.5, 0, 0.5, 1]);

test("a brush is a range without the ends that it does not limit", () => {
  expect(rangeOfBrush(REWARDS, { low: 0, high: 3 }, "reward")).toBeUndefined();
  expect(rangeOfBrush(REWARDS, { low: 0, high: 1 }, "reward")).toEqual({ min: null, max: 0, exclusive: true });
  expect(rangeOfBrush(REWARDS, { low: 1, high: 3 }, "reward")).toEqual({ min: 0, max: null });
  expect(rangeOfBrush(REWARDS, { low: 1, high: 2 }, "reward")).toEqual({ min: 0, max: 0.5 });
});

test("a brush of steps has whole numbers", () => {
  expect(rangeOfBrush(bins([0, 2.5, 5, 7.5]), { low: 1, high: 2 }, "steps")).toEqual({ min: 3, max: 4 });
  expect(rangeOfBrush(bins([0, 2.5, 5, 7.5]), { low: 0, high: 2 }, "steps")).toEqual({ min: null, max: 4 });
});

test("every brush is read back from its range", () => {
  const thirds = bins(Array.from({ length: 25 }, (_, at) => -1 + at / 12));
  for (let low = 0; low < 24; low++) {
    for (let high = low + 1; high <= 24; high++) {
      const { low: first, high: end } = brushOf(thirds, rangeOfBrush(thirds, { low, high }, "reward"));
      // The limits are rounded, so that a bin more may be touched.
      expect(Math.abs(first - low) + Math.abs(end - high)).toBeLessThanOrEqual(2);
    }
  }
});

test("a quantile lies in the bin that holds it", () => {
  expect(quantileOf(bins([0, 1, 2, 3, 4], 10), 0.5)).toBe(2);
  expect(quantileOf([], 0.5)).toBeUndefined();
});
