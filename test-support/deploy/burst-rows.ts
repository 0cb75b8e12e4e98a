import type { NamedRow } from "../../packages/bench/src/burst/results/max-batch.js";

/** What a row says; all else is of a burst that is whole and took no longer than its wait. */
export type BurstRowValues = Pick<NamedRow, "subject" | "requests"> & Partial<NamedRow>;

/** A row of a summary as it is read. */
export function burstRow(told: BurstRowValues): NamedRow {
  const { wait_seconds = 1, requests, success_rate = 1 } = told;
  const step = 1000 * wait_seconds;
  return {
    url: "http://127.0.0.1",
    mode: "ws",
    hardware: "2 cores, Example Processor 9000",
    cores: 2,
    rep: "all",
    wait_seconds,
    success_rate,
    made: requests,
    succeeded: Math.round(requests * success_rate),
    wall_seconds: wait_seconds,
    requests_per_second: requests,
    effective_concurrency: requests,
    start_spread_ms: 2,
    ...percentiles("start", 0),
    ...percentiles("connect", 10),
    ...percentiles("reset", 5),
    ...percentiles("step", step),
    ...percentiles("total", step + 15),
    total_p99_ms: step + 20,
    errors: "",
    client_limited: false,
    ...told,
  } as NamedRow;
}

/** The row of all repetitions, and one of each of the given ones. */
export function repeated(told: BurstRowValues, repetitions: readonly Partial<NamedRow>[]): NamedRow[] {
  return [burstRow(told), ...repetitions.map((one, index) => burstRow({ ...told, ...one, rep: index + 1 }))];
}

function percentiles(part: string, milliseconds: number): Record<string, number> {
  return Object.fromEntries([50, 90, 95, 99].map((percentile) => [`${part}_p${percentile}_ms`, milliseconds]));
}
