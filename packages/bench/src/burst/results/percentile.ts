/** The value that the part `p` (0 to 1) of the values does not exceed; null when there are none. */
export function percentile(sorted: ArrayLike<number>, p: number): number | null {
  if (sorted.length === 0) return null;
  return sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(p * sorted.length) - 1))] ?? null;
}

/** The percentiles that every table of a benchmark has. */
export const PERCENTILES = [50, 90, 95, 99] as const;
