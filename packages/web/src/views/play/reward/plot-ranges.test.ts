import { describe, expect, test } from "vitest";
import { rangesOf } from "./plot-ranges.js";

const ranges = (rewards: (number | null)[], totals: (number | null)[]) => rangesOf([[], rewards, totals]);

describe("the scales of rewards and totals", () => {
  test("are apart: a reward is seen however large the total is", () => {
    const [reward, total] = ranges([null, 1, 0.5], [null, 4_999, 5_000]);
    expect(reward).toEqual([0, 1.08]);
    expect(total).toEqual([0, 5_400]);
  });

  test.each([
    [
      [-1, 1],
      [-1, 0],
    ],
    [
      [-1, -2],
      [-1, -3],
    ],
    [
      [-1, 5],
      [900, 905],
    ],
    [[1], [-50]],
    [[0], [0]],
    [[null], [null]],
  ])("have zero at one height, and cut nothing: %j %j", (rewards, totals) => {
    const both = ranges(rewards, totals);
    const [reward, total] = both.map(([low, high]) => -low / (high - low));
    expect(reward).toBeCloseTo(total as number);
    for (const [at, values] of [rewards, totals].entries()) {
      for (const value of values) {
        expect(value ?? 0).toBeGreaterThanOrEqual(both[at]?.[0] as number);
        expect(value ?? 0).toBeLessThanOrEqual(both[at]?.[1] as number);
      }
    }
  });
});
