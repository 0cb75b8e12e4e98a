import type { RolloutHistogram, RolloutRange } from "openenv-ts/protocol";
import type { RangeField } from "./terms.js";

/** Edges of the bins that are selected: from the first of `low` to the end before `high`. */
export interface Brush {
  low: number;
  high: number;
}

/** Edges of bins are sums, which are not exact. */
const ROUNDING = 1e-9;

export type Bins = RolloutHistogram["bins"];

/** The bins of a range. */
export function brushOf(bins: Bins, range: RolloutRange | undefined): Brush {
  const all = { low: 0, high: bins.length };
  if (!range) return all;
  const { min, max } = range;
  const low = min === null ? 0 : bins.findLastIndex(({ from }) => from <= min + ROUNDING);
  const after = max === null ? -1 : bins.findIndex(({ to }) => to >= max - ROUNDING);
  const high = after === -1 ? bins.length : after + 1;
  return { low: Math.max(0, low), high: Math.max(high, low + 1) };
}

/** The range of some bins; undefined for all of them. */
export function rangeOfBrush(bins: Bins, { low, high }: Brush, field: RangeField): RolloutRange | undefined {
  const [first, last] = [bins[low], bins[high - 1]];
  if (!first || !last || (low === 0 && high === bins.length)) return undefined;
  const width = (last.to - first.from) / (high - low);
  if (field === "steps") {
    const min = low === 0 ? null : Math.ceil(first.from - ROUNDING);
    const max = high === bins.length ? null : Math.ceil(last.to - ROUNDING) - 1;
    return { min, max: min === null || max === null ? max : Math.max(min, max) };
  }
  const min = low === 0 ? null : rounded(first.from, width);
  const max = high === bins.length ? null : rounded(last.to, width);
  return { min, max, ...(min === null ? { exclusive: true } : {}) };
}

/** A number with no more digits than its distance to the next one needs. */
function rounded(value: number, width: number): number {
  const digits = Math.max(0, 1 - Math.floor(Math.log10(width || 1)));
  return Number(value.toFixed(Math.min(digits, 12)));
}

/** The value below which this part of the episodes is, to the width of a bin. */
export function quantileOf(bins: Bins, part: number): number | undefined {
  const all = totalOf(bins, "all");
  let before = 0;
  for (const { from, to, all: here } of bins) {
    if (here > 0 && before + here >= all * part) return from + ((to - from) * (all * part - before)) / here;
    before += here;
  }
  return undefined;
}

/** The number of episodes in the bins. */
export function totalOf(bins: Bins, part: "all" | "matching"): number {
  return bins.reduce((sum, bin) => sum + bin[part], 0);
}
