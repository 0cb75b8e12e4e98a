import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { rng } from "./rng.js";

function numbers(seed: number, count = 5): number[] {
  const random = rng(seed);
  return Array.from({ length: count }, () => random.int(0, 999_999));
}

test("the numbers of a seed stay what they are, on every platform and in every version", () => {
  expect(numbers(42)).toEqual([456255, 564175, 574377, 964942, 831097]);
});

test("the same seed gives the same numbers, another seed others, also beyond 2^32", () => {
  expect(numbers(7)).toEqual(numbers(7));
  expect(numbers(7)).not.toEqual(numbers(8));
  expect(numbers(7)).not.toEqual(numbers(7 + 2 ** 32));
  expect(numbers(0)).not.toEqual(numbers(1 + 2 ** 32));
  expect(numbers(Number.MAX_SAFE_INTEGER)).not.toEqual(numbers(Number.MAX_SAFE_INTEGER - 2 ** 40));
});

test("without a seed two generators differ", () => {
  const draw = () => {
    const random = rng();
    return Array.from({ length: 4 }, () => random.next());
  };
  expect(draw()).not.toEqual(draw());
});

test("numbers are at least 0 and below 1, and fill that range evenly", () => {
  const random = rng(1);
  const buckets = new Array<number>(10).fill(0);
  for (let i = 0; i < 100_000; i++) {
    const value = random.next();
    expect(value >= 0 && value < 1).toBe(true);
    const bucket = Math.floor(value * 10);
    buckets[bucket] = (buckets[bucket] ?? 0) + 1;
  }
  for (const count of buckets) expect(Math.abs(count - 10_000)).toBeLessThan(500);
});

describe("whole numbers", () => {
  test("reach both ends and nothing outside", () => {
    fc.assert(
      fc.property(fc.integer(), fc.integer({ min: -50, max: 50 }), fc.nat(5), (seed, min, width) => {
        const random = rng(seed);
        const seen = new Set(Array.from({ length: 200 }, () => random.int(min, min + width)));
        expect([...seen].sort((a, b) => a - b)).toEqual(Array.from({ length: width + 1 }, (_, i) => min + i));
      }),
    );
  });
});

test("a shuffle keeps every item, changes no list and reaches every order", () => {
  const items = Object.freeze(["a", "b", "c"]);
  const orders = new Set<string>();
  const random = rng(3);
  for (let i = 0; i < 300; i++) {
    const shuffled = random.shuffle(items);
    expect([...shuffled].sort()).toEqual(["a", "b", "c"]);
    orders.add(shuffled.join(""));
  }
  expect(orders.size).toBe(6);
});

test("a pick reaches every item and refuses an empty list", () => {
  const random = rng(4);
  expect(new Set(Array.from({ length: 100 }, () => random.pick(["x", "y"])))).toEqual(new Set(["x", "y"]));
  expect(() => random.pick([])).toThrow(RangeError);
});
