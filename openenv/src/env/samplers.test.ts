import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createSeededSampler, createShuffledSampler, createWeightedSampler, type Sampler } from "./samplers.js";

const take = (sampler: Sampler, count: number) => Array.from({ length: count }, () => sampler.next());
const counts = fc.integer({ min: 1, max: 200 });
const seeds = fc.maxSafeNat();

describe.each([
  ["seeded", (count: number, seed?: number) => createSeededSampler(count, seed)],
  ["shuffled", (count: number, seed?: number) => createShuffledSampler(count, seed)],
  [
    "weighted",
    (count: number, seed?: number) =>
      createWeightedSampler(
        Array.from({ length: count }, () => 1),
        seed,
      ),
  ],
])("a %s sampler", (_, create) => {
  test("gives the same indexes for the same seed, all of them in range", () => {
    fc.assert(
      fc.property(counts, seeds, (count, seed) => {
        const indexes = take(create(count, seed), 50);
        expect(take(create(count, seed), 50)).toEqual(indexes);
        for (const index of indexes) expect(Number.isInteger(index) && index >= 0 && index < count).toBe(true);
      }),
    );
  });

  test("gives others for another seed, and without one", () => {
    const indexes = take(create(1000, 1), 20);
    expect(take(create(1000, 2), 20)).not.toEqual(indexes);
    expect(take(create(1000), 20)).not.toEqual(take(create(1000), 20));
  });

  test("is iterated as long as one likes", () => {
    const sampler = create(10, 1);
    const seen: number[] = [];
    for (const index of sampler) if (seen.push(index) === 25) break;
    expect(seen).toEqual(take(create(10, 1), 25));
  });

  test("needs something to choose from", () => {
    expect(() => create(0)).toThrow(RangeError);
  });
});

describe("a shuffled sampler", () => {
  test("gives every index once in an epoch, in another order in the next", () => {
    fc.assert(
      fc.property(counts, seeds, (count, seed) => {
        const sampler = createShuffledSampler(count, seed);
        for (const epoch of [0, 1, 2]) {
          expect(sampler.epoch).toBe(epoch);
          expect(new Set(take(sampler, count)).size).toBe(count);
        }
      }),
    );
    const sampler = createShuffledSampler(100, 1);
    expect(take(sampler, 100)).not.toEqual(take(sampler, 100));
  });

  test("puts every index in every place about as often", () => {
    const places = Array.from({ length: 4 }, () => [0, 0, 0, 0]);
    const sampler = createShuffledSampler(4, 7);
    for (let epoch = 0; epoch < 4000; epoch++) {
      for (const [place, index] of take(sampler, 4).entries())
        (places[place] as number[])[index] = (places[place]?.[index] ?? 0) + 1;
    }
    for (const times of places.flat()) expect(Math.abs(times - 1000)).toBeLessThan(150);
  });
});

describe("a weighted sampler", () => {
  test("gives indexes as often as their weights say, and never one of weight 0", () => {
    const times = [0, 0, 0, 0];
    for (const index of take(createWeightedSampler([1, 0, 3, 0], 7), 8000)) times[index] = (times[index] ?? 0) + 1;
    expect([times[1], times[3]]).toEqual([0, 0]);
    expect(Math.abs((times[0] ?? 0) - 2000)).toBeLessThan(200);
  });

  test.each([[[0, 0]], [[-1, 2]], [[Number.NaN]], [[Number.MAX_VALUE, Number.MAX_VALUE]]])(
    "refuses the weights %j",
    (weights) => {
      expect(() => createWeightedSampler(weights)).toThrow(RangeError);
    },
  );
});
