/** Four buckets per octave: each boundary is at most 25 % above the previous one. */
const PER_OCTAVE = 4;
/** The range is 2^-10 ms (about 1 µs) to 2^20 ms (about 17 minutes); other values count in the first or last bucket. */
const FIRST_EXPONENT = -10;
const OCTAVES = 30;
const BUCKETS = OCTAVES * PER_OCTAVE;
const EXPONENT_BIAS = 1023;
/** Shift of the upper half of a double that leaves the exponent and the two leading bits of the fraction. */
const SHIFT = 18;
const OFFSET = (EXPONENT_BIAS + FIRST_EXPONENT) * PER_OCTAVE;

const double = new Float64Array(1);
const halves = new Uint32Array(double.buffer);
const UPPER = new Uint8Array(new Uint16Array([1]).buffer)[0] === 1 ? 1 : 0;

/** One of the durations, with the trace that has it. */
export interface Exemplar {
  labels: { trace_id: string; span_id: string };
  ms: number;
  /** Milliseconds since 1970. */
  at: number;
}

/** A histogram of durations in milliseconds. Recording allocates no memory. */
export class Histogram {
  readonly counts = new Float64Array(BUCKETS);
  /** The last one. */
  exemplar: Exemplar | undefined;
  readonly #sum = new Float64Array(1);

  /** Sum of all durations in milliseconds. */
  get sum(): number {
    return this.#sum[0] as number;
  }

  record(ms: number): void {
    double[0] = ms;
    // The bits of a double approximate its logarithm.
    const bucket = ((halves[UPPER] as number) >>> SHIFT) - OFFSET;
    const index = ms < 0 || bucket < 0 ? 0 : bucket >= BUCKETS ? BUCKETS - 1 : bucket;
    (this.counts[index] as number)++;
    (this.#sum[0] as number) += ms;
  }
}

/** Upper bound of a bucket in milliseconds. */
export function boundary(bucket: number): number {
  const octave = Math.floor(bucket / PER_OCTAVE);
  return 2 ** (FIRST_EXPONENT + octave) * (1 + ((bucket % PER_OCTAVE) + 1) / PER_OCTAVE);
}

/** The percentile of durations (`share` is 0 to 1), at most 25 % too high; null without values. */
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

/** Adds the counts of several histograms, or of one histogram at several times. */
export function addCounts(all: readonly ArrayLike<number>[]): number[] {
  const sum: number[] = Array.from({ length: BUCKETS }, () => 0);
  for (const counts of all) for (let i = 0; i < counts.length; i++) (sum[i] as number) += counts[i] as number;
  return sum;
}
