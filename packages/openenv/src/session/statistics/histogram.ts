/** Four buckets an octave: a boundary is at most a quarter above the one before. */
const PER_OCTAVE = 4;
/** The octaves begin at 2^-10 ms, about a microsecond, and end at 2^20 ms, about 17 minutes; beyond counts at the ends. */
const FIRST_EXPONENT = -10;
const OCTAVES = 30;
const BUCKETS = OCTAVES * PER_OCTAVE;
const EXPONENT_BIAS = 1023;
/** Of the upper half of a double, bits below the exponent and the two leading ones of the fraction. */
const SHIFT = 18;
const OFFSET = (EXPONENT_BIAS + FIRST_EXPONENT) * PER_OCTAVE;

const double = new Float64Array(1);
const halves = new Uint32Array(double.buffer);
const UPPER = new Uint8Array(new Uint16Array([1]).buffer)[0] === 1 ? 1 : 0;

/** How often which time was measured, in milliseconds. To record one allocates nothing. */
export class Histogram {
  readonly counts = new Float64Array(BUCKETS);
  readonly #sum = new Float64Array(1);

  /** Of all times, milliseconds. */
  get sum(): number {
    return this.#sum[0] as number;
  }

  record(ms: number): void {
    double[0] = ms;
    // The bits of a double are its logarithm, near enough.
    const bucket = ((halves[UPPER] as number) >>> SHIFT) - OFFSET;
    const index = ms < 0 || bucket < 0 ? 0 : bucket >= BUCKETS ? BUCKETS - 1 : bucket;
    (this.counts[index] as number)++;
    (this.#sum[0] as number) += ms;
  }
}

/** Where a bucket ends, milliseconds. */
export function boundary(bucket: number): number {
  const octave = Math.floor(bucket / PER_OCTAVE);
  return 2 ** (FIRST_EXPONENT + octave) * (1 + ((bucket % PER_OCTAVE) + 1) / PER_OCTAVE);
}

/** The time that this share (0 to 1) of the measured ones stay below, at most a quarter too long; null without any. */
export function percentile(counts: ArrayLike<number>, share: number): number | null {
  let total = 0;
  for (let i = 0; i < counts.length; i++) total += counts[i] as number;
  if (total === 0) return null;
  let left = Math.ceil(total * share);
  for (let i = 0; i < counts.length; i++) {
    left -= counts[i] as number;
    if (left <= 0) return boundary(i);
  }
  return boundary(counts.length - 1);
}

/** Counts of several histograms, or of one at several times, together. */
export function addCounts(all: readonly ArrayLike<number>[]): number[] {
  const sum: number[] = Array.from({ length: BUCKETS }, () => 0);
  for (const counts of all) for (let i = 0; i < counts.length; i++) (sum[i] as number) += counts[i] as number;
  return sum;
}
