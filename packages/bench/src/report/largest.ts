import type { MaxBatch, NamedRow } from "../burst/results/max-batch.js";
import { repetitionsOf, spreadOf } from "../burst/results/repetitions.js";
import { renderLargest, renderStop } from "./stops.js";
import { renderMarkdown, seconds, whole } from "./tables.js";

/** The largest batches, a line a subject and wait, with what stopped each. */
export function renderMaxBatches(batches: readonly MaxBatch[]): string {
  return renderMarkdown(
    ["subject", "wait", "largest batch", "p99 <= 2 × wait", "repetitions", "stopped by"],
    batches.map((batch) => [
      ...nameBatch(batch),
      renderLargest(batch),
      batch.byLatency === null ? "none" : whole(batch.byLatency),
      whole(batch.repetitions),
      renderStop(batch),
    ]),
  );
}

/** What the largest batch took: for each core, latency and rate, with the spread of the single repetitions. */
export function renderAtLargest(batches: readonly MaxBatch[], rows: readonly NamedRow[]): string {
  return renderMarkdown(
    ["subject", "wait", "largest batch", "for each core", "p99", "requests/s"],
    batches.map((batch) => {
      const row = rows.find((one) => one.rep === "all" && isOf(one, batch));
      const spread = (value: (row: NamedRow) => number | null, render: (value: number) => string): string => {
        const pooled = row === undefined ? null : value(row);
        if (row === undefined || pooled === null) return "–";
        const repetitions = repetitionsOf(row, rows);
        const range = repetitions.length < 2 ? null : spreadOf(repetitions, value);
        return `${render(pooled)}${range === null ? "" : ` (${render(range.least)}–${render(range.most)})`}`;
      };
      return [
        ...nameBatch(batch),
        renderLargest({ ...batch, least: null, most: null }),
        renderPerCore(batch),
        `${spread(({ total_p99_ms }) => total_p99_ms, seconds)}${row?.client_limited ? " °" : ""}`,
        spread(
          ({ requests_per_second }) => requests_per_second,
          (value) => whole(Math.round(value)),
        ),
      ];
    }),
  );
}

function nameBatch({ subject, wait_seconds }: MaxBatch): string[] {
  return [subject, seconds(wait_seconds * 1000)];
}

function renderPerCore(batch: MaxBatch): string {
  if (batch.bySuccess === null) return "none";
  return batch.cores === null ? "cores unknown" : renderLargest({ ...batch, least: null, most: null }, batch.cores);
}

function isOf(row: NamedRow, { subject, wait_seconds, bySuccess }: MaxBatch): boolean {
  return row.subject === subject && row.wait_seconds === wait_seconds && row.requests === bySuccess;
}
