import { groupBy, spreadOf } from "./repetitions.js";
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
  /** The largest batch of each repetition alone: the smallest of them, 0 when a repetition reached none. */
  least: number | null;
  /** The largest of them. */
  most: number | null;
  /** How often the batch `bySuccess` was measured. */
  repetitions: number;
  /** The next larger batch, which failed; null when no larger one was tried, so that the limit is unknown. */
  stop: { requests: number; success_rate: number; errors: string } | null;
}

/** Rows with the name of what they measured. */
export type NamedRow = SummaryRow & { subject: string };

/**
 * Judges the rows with `rep` "all", which hold every repetition, and takes the spread from the other rows; in the order
 * in which subjects come.
 */
export function findMaxBatches(rows: readonly NamedRow[]): MaxBatch[] {
  const groups = groupBy(rows, ({ subject, wait_seconds }) => JSON.stringify([subject, wait_seconds]));
  return groups.flatMap((group) => {
    const all = group.filter(({ rep }) => rep === "all");
    return all[0] === undefined ? [] : [judge(all[0], all, group)];
  });
}

function judge(
  { subject, wait_seconds, cores }: NamedRow,
  all: readonly NamedRow[],
  group: readonly NamedRow[],
): MaxBatch {
  const single = group.filter(({ rep }) => typeof rep === "number");
  const bySuccess = largest(all.filter(reached));
  const byRepetition = groupBy(single, ({ rep }) => String(rep)).map((rows) => largest(rows.filter(reached)) ?? 0);
  const spread = spreadOf(byRepetition, (batch) => batch);
  const [stop] = all.filter(({ requests }) => requests > (bySuccess ?? 0)).toSorted((a, b) => a.requests - b.requests);
  const limit = STRETCH * wait_seconds * 1000;
  return {
    subject,
    wait_seconds,
    cores,
    bySuccess,
    byLatency: largest(all.filter((row) => reached(row) && row.total_p99_ms !== null && row.total_p99_ms <= limit)),
    perCore: cores === null || bySuccess === null ? null : bySuccess / cores,
    least: spread?.least ?? null,
    most: spread?.most ?? null,
    repetitions: single.filter(({ requests }) => requests === (bySuccess ?? stop?.requests)).length,
    stop: stop ? { requests: stop.requests, success_rate: stop.success_rate, errors: stop.errors } : null,
  };
}

function reached({ success_rate }: NamedRow): boolean {
  return success_rate >= ENOUGH_SUCCESS;
}

function largest(rows: readonly NamedRow[]): number | null {
  return rows.length === 0 ? null : Math.max(...rows.map(({ requests }) => requests));
}
