/** Reproducible random numbers: the same seed gives the same numbers on every platform. Not for secrets. */
export interface Rng {
  /** A number in [0, 1). */
  next(): number;
  /** An integer in [min, max], both included. */
  int(min: number, max: number): number;
  /** A random item. @throws RangeError for an empty list. */
  pick<T>(items: readonly T[]): T;
  /** A shuffled copy. */
  shuffle<T>(items: readonly T[]): T[];
}

/** Where a generator is in its sequence: four integers of 32 bits. */
export type RngState = readonly [number, number, number, number];

/** A generator that can be continued elsewhere. */
export interface SeededRng extends Rng {
  readonly state: RngState;
}

export function randomSeed(): number {
  return crypto.getRandomValues(new Uint32Array(1))[0] as number;
}

/** Creates an sfc32 generator (public domain, PractRand), seeded with splitmix32, or continues one from its state. */
export function rng(from: number | RngState = randomSeed()): SeededRng {
  const source = sfc32(from);
  const { next } = source;
  const int = (min: number, max: number): number => min + Math.floor(next() * (max - min + 1));
  return {
    next,
    get state() {
      return source.state();
    },
    int,
    pick: (items) => {
      if (items.length === 0) throw new RangeError("rng.pick requires a list that is not empty");
      return items[int(0, items.length - 1)] as (typeof items)[number];
    },
    shuffle: (items) => {
      const copy = [...items];
      for (let i = copy.length - 1; i > 0; i--) {
        const j = int(0, i);
        [copy[i], copy[j]] = [copy[j] as (typeof copy)[number], copy[i] as (typeof copy)[number]];
      }
      return copy;
    },
  };
}

function sfc32(from: number | RngState): { next(): number; state(): RngState } {
  let [a, b, c, counter] = typeof from === "number" ? startOf(from) : from;
  const next = (): number => {
    const sum = (((a + b) | 0) + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (c << 21) | (c >>> 11);
    c = (c + sum) | 0;
    return (sum >>> 0) / 0x1_0000_0000;
  };
  if (typeof from === "number") for (let i = 0; i < 12; i++) next();
  return { next, state: () => [a, b, c, counter] };
}

function startOf(seed: number): RngState {
  const mix = splitmix32(seed >>> 0);
  // Use both halves of a seed beyond 2^32.
  return [mix(), mix(), mix() ^ Math.floor(seed / 0x1_0000_0000), 1];
}

function splitmix32(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x9e3779b9) | 0;
    let z = state ^ (state >>> 16);
    z = Math.imul(z, 0x21f0aaad);
    z ^= z >>> 15;
    z = Math.imul(z, 0x735a2d97);
    return z ^ (z >>> 15);
  };
}
