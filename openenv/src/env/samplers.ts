import { type Rng, rng } from "./rng.js";

/** Chooses indexes without an end: `next()` gives one, and `for (const index of sampler)` goes on as long as you do. */
export interface Sampler extends Iterable<number> {
  next(): number;
}

/**
 * Each index as likely as any other, every time. The same seed gives the same indexes.
 * @throws RangeError without items.
 */
export function createSeededSampler(count: number, seed?: number): Sampler {
  const random = start(count, seed);
  return endless(() => random.int(0, count - 1));
}

/**
 * All indexes in a random order, then all in another: none comes twice in one epoch.
 * @throws RangeError without items.
 */
export function createShuffledSampler(
  count: number,
  seed?: number,
): Sampler & {
  /** How many times all of them have come. */
  readonly epoch: number;
} {
  const random = start(count, seed);
  const order = Uint32Array.from({ length: count }, (_, index) => index);
  let given = 0;
  const next = (): number => {
    const at = given++ % count;
    const other = random.int(at, count - 1);
    const index = order[other] as number;
    order[other] = order[at] as number;
    order[at] = index;
    return index;
  };
  return {
    ...endless(next),
    get epoch() {
      return Math.floor(given / count);
    },
  };
}

/**
 * Each index as often as its weight says, of the sum of all.
 * @throws RangeError for weights that are negative or all 0.
 */
export function createWeightedSampler(weights: readonly number[], seed?: number): Sampler {
  const sums: number[] = [];
  let total = 0;
  for (const [index, weight] of weights.entries()) {
    if (!(weight >= 0 && Number.isFinite(weight))) {
      throw new RangeError(`The weight of ${index} must be a finite number from 0 on, not ${weight}.`);
    }
    sums.push((total += weight));
  }
  const random = start(weights.length, seed);
  if (!(total > 0 && Number.isFinite(total))) throw new RangeError("Weights need a sum above 0.");
  const last = sums.indexOf(total);
  return endless(() => firstAbove(sums, random.next() * total, last));
}

function start(count: number, seed: number | undefined): Rng {
  if (Number.isInteger(count) && count > 0 && count <= MAX_COUNT) return rng(seed);
  throw new RangeError(`There must be 1 to ${MAX_COUNT} indexes to choose from, not ${count}.`);
}

const MAX_COUNT = 2 ** 32;

function endless(next: () => number): Sampler {
  return {
    next,
    *[Symbol.iterator]() {
      for (;;) yield next();
    },
  };
}

/** The first sum that is larger: one with a weight of 0 never is. */
function firstAbove(sums: readonly number[], value: number, last: number): number {
  let low = 0;
  let high = last;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((sums[middle] as number) > value) high = middle;
    else low = middle + 1;
  }
  return low;
}
