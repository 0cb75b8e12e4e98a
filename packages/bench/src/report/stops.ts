import type { MaxBatch } from "../burst/results/max-batch.js";
import { whole } from "./tables.js";

/** What the failures of most requests say about a server. */
const REASONS: Readonly<Record<string, string>> = {
  CAPACITY_REACHED: "capacity of the server",
  TIMEOUT: "time limit of a request",
};

/** The largest batch, open-ended where no larger one was tried, with its spread where repetitions differ. */
export function renderLargest({ bySuccess, least, most, stop }: MaxBatch, cores = 1): string {
  const each = (batch: number): string => whole(Math.round((batch / cores) * 10) / 10);
  const spread = least === null || most === null || least === most ? "" : ` (${each(least)}–${each(most)})`;
  if (bySuccess === null) return `none${spread}`;
  return `${stop === null ? "≥ " : ""}${each(bySuccess)}${spread}`;
}

/** What ended the search for a larger batch. */
export function renderStop({ stop }: MaxBatch): string {
  if (stop === null) return "end of the grid: no larger batch was tried";
  const counts = stop.errors.split(" ").flatMap((entry) => {
    const [, type, count] = /^(.+):(\d+)$/.exec(entry) ?? [];
    return type === undefined ? [] : [{ type, count: Number(count) }];
  });
  const failures = counts.map(({ type, count }) => `${whole(count)} ${type}`).join(", ");
  const reason = REASONS[counts[0]?.type ?? ""] ?? "failures";
  const percent = (stop.success_rate * 100).toFixed(1);
  return `${reason}: ${percent} % at ${whole(stop.requests)}${failures && ` (${failures})`}`;
}
