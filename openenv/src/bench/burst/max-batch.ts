import type { SummaryRow } from "./summary.js";

/** The part of the requests that has to succeed. */
export const ENOUGH_SUCCESS = 0.95;
/** How many times the step's own time the 99th percentile of a request may take. */
const STRETCH = 2;

/** The largest batches of one subject at one wait; null when no batch reached it. */
export interface MaxBatch {
  subject: string;
  wait_seconds: number;
  cores: number | null;
  /** The largest with at least 95 % success over all repetitions. */
  bySuccess: number | null;
  /** The largest of these whose total p99 is at most twice the step time. */
  byLatency: number | null;
  /** `bySuccess` for each core. */
  perCore: number | null;
}

/** Rows with the name of what they measured. */
export type NamedRow = SummaryRow & { subject: string };

/** Judges the rows with `rep` "all", which hold every repetition; in the order in which subjects come. */
export function findMaxBatches(rows: readonly NamedRow[]): MaxBatch[] {
  const found = new Map<string, MaxBatch>();
  for (const row of rows.filter(({ rep }) => rep === "all")) {
    const { subject, wait_seconds, cores } = row;
    const key = JSON.stringify([subject, wait_seconds]);
    const batch = found.get(key) ?? { subject, wait_seconds, cores, bySuccess: null, byLatency: null, perCore: null };
    found.set(key, batch);
    if (row.success_rate < ENOUGH_SUCCESS) continue;
    batch.bySuccess = Math.max(batch.bySuccess ?? 0, row.requests);
    batch.perCore = cores === null ? null : batch.bySuccess / cores;
    if (row.total_p99_ms !== null && row.total_p99_ms <= STRETCH * wait_seconds * 1000) {
      batch.byLatency = Math.max(batch.byLatency ?? 0, row.requests);
    }
  }
  return [...found.values()];
}
