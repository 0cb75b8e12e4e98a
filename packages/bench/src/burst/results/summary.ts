import { joinUse, limitsBurst } from "../generator/client-use.js";
import type { BurstMode, BurstResult, RequestRow } from "../types.js";
import { PERCENTILES, percentile } from "./percentile.js";

/** The timed stages of a request; `start` is the delay of the client, from the start of the burst. */
const PARTS = ["start", "connect", "reset", "step", "total"] as const;
type Part = (typeof PARTS)[number];
type Latencies = { [Key in `${Part}_p${(typeof PERCENTILES)[number]}_ms`]: number | null };

/** The subject of a measurement, in every row of summary.csv. */
export interface Subject {
  url: string;
  mode: BurstMode;
  hardware: string;
  cores: number | null;
}

/** One row of summary.csv. */
export interface SummaryRow extends Subject, Burst, Latencies {
  /** The number of requests: `requests`, times the repetitions for "all". */
  made: number;
  succeeded: number;
  success_rate: number;
  /** The time that the client took to start all requests of a burst; with `rep` "all" the longest. */
  start_spread_ms: number;
  wall_seconds: number;
  requests_per_second: number;
  /** The average number of concurrent requests. */
  effective_concurrency: number;
  distinct_pids: number;
  distinct_hosts: number;
  distinct_sessions: number;
  /** Successes whose step reached the environment of their reset; zero for a stateless HTTP server. */
  same_sessions: number;
  /** Failures by type, the most frequent first: `TIMEOUT:3 CLOSED_1012:1`. */
  errors: string;
  client_lag_p99_ms: number;
  client_busy: number;
  client_limited: boolean;
  /** CPU time of all load generators. */
  client_cpu_seconds: number;
  /** CPU time of the processes of a server on this machine; null when it could not be measured. */
  server_cpu_seconds: number | null;
  sessions_per_cpu_second: number | null;
}

/** Which burst or bursts the row describes. */
export interface Burst {
  requests: number;
  wait_seconds: number;
  /**
   * "first" is the first burst of a run at a server over a transport. It comes before the repetitions 1, 2, 3 … and is
   * not part of their percentiles. "all" is all repetitions together, without "first".
   */
  rep: number | "first" | "all";
}

/**
 * Counts and percentiles of one burst, or of several with equal settings. Latencies are those of successful requests.
 */
export function summarise(subject: Subject, burst: Burst, results: readonly BurstResult[]): SummaryRow {
  const rows = results.flatMap((result) => result.rows);
  const good = rows.filter(({ success }) => success);
  const wall = results.reduce((sum, { wallSeconds }) => sum + wallSeconds, 0);
  const latencies = latenciesOf(good);
  const client = joinUse(results.map((result) => result.client));
  const busySeconds = good.reduce((sum, { start_ms, total_ms }) => sum + total_ms - start_ms, 0) / 1000;
  const spread = rows.reduce((last, { start_ms }) => Math.max(last, start_ms), 0);
  return {
    ...subject,
    ...burst,
    made: rows.length,
    succeeded: good.length,
    success_rate: rows.length === 0 ? 0 : good.length / rows.length,
    start_spread_ms: round(spread),
    wall_seconds: round(wall),
    requests_per_second: wall === 0 ? 0 : round(good.length / wall),
    effective_concurrency: wall === 0 ? 0 : round(busySeconds / wall),
    ...latencies,
    distinct_pids: distinct(good.map(({ pid }) => pid)),
    distinct_hosts: distinct(good.map(({ host_url }) => host_url)),
    distinct_sessions: distinct(good.map(({ session_hash }) => session_hash)),
    same_sessions: good.filter(({ same_session }) => same_session).length,
    errors: renderErrors(rows),
    client_lag_p99_ms: client.lagMs,
    client_busy: client.busy,
    client_limited: limitsBurst(client, spread, latencies.total_p50_ms),
    client_cpu_seconds: round(client.cpuSeconds),
    ...serverUse(results, good.length),
  };
}

function serverUse(results: readonly BurstResult[], succeeded: number) {
  const used = results.flatMap(({ serverCpuSeconds = [] }) => serverCpuSeconds);
  if (used.length < results.length) return { server_cpu_seconds: null, sessions_per_cpu_second: null };
  const seconds = used.reduce((sum, one) => sum + one, 0);
  return { server_cpu_seconds: round(seconds), sessions_per_cpu_second: round(succeeded / seconds) };
}

function latenciesOf(rows: readonly RequestRow[]): Latencies {
  const entries = PARTS.flatMap((part) => {
    const values = rows.flatMap((row) => row[`${part}_ms`] ?? []);
    const sorted = Float64Array.from(values).sort();
    return PERCENTILES.map((p) => [`${part}_p${p}_ms`, percentile(sorted, p / 100)]);
  });
  return Object.fromEntries(entries) as Latencies;
}

function renderErrors(rows: readonly RequestRow[]): string {
  const counts = new Map<string, number>();
  for (const { error_type } of rows) {
    if (error_type !== null) counts.set(error_type, (counts.get(error_type) ?? 0) + 1);
  }
  return [...counts]
    .toSorted((a, b) => b[1] - a[1])
    .map(([type, count]) => `${type}:${count}`)
    .join(" ");
}

function distinct(values: readonly unknown[]): number {
  return new Set(values.filter((value) => value !== null)).size;
}

function round(value: number): number {
  return Math.round(value * 1000) / 1000;
}
