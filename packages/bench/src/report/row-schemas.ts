import * as z from "zod";

/** A finite number of at least zero, as calculations and axes need. */
const amount = z.number().min(0).max(Number.MAX_SAFE_INTEGER);
/** Empty when it could not be measured. */
const measured = amount.nullable();
const positive = z.number().gt(0).max(Number.MAX_SAFE_INTEGER);
const text = z.string();

const subject = { url: text, hardware: text, cores: positive.nullable() };
const client = { client_busy: amount, client_limited: z.boolean() };

const PARTS = ["start", "connect", "reset", "step", "total"] as const;
const latencies = Object.fromEntries(
  PARTS.flatMap((part) => [50, 90, 95, 99].map((percentile) => [`${part}_p${percentile}_ms`, measured])),
);

/** A row of summary.csv. */
export const burstRow = z.object({
  ...subject,
  ...client,
  ...latencies,
  mode: text,
  requests: positive,
  wait_seconds: amount,
  rep: z.union([
    z.literal("all"),
    z.literal("first"),
    z
      .string()
      .regex(/^\d{1,9}$/)
      .transform(Number),
  ]),
  made: amount,
  succeeded: amount,
  success_rate: z.number().min(0).max(1),
  start_spread_ms: amount,
  wall_seconds: amount,
  requests_per_second: amount,
  effective_concurrency: amount,
  distinct_pids: amount,
  distinct_hosts: amount,
  distinct_sessions: amount,
  same_sessions: amount,
  errors: text,
  client_lag_p99_ms: amount,
  // Older results do not have them.
  client_cpu_seconds: measured.default(null),
  server_cpu_seconds: measured.default(null),
  sessions_per_cpu_second: measured.default(null),
});

/** A row of throughput.csv. */
export const throughputRow = z.object({
  ...subject,
  ...client,
  connections: positive,
  seconds: amount,
  // Older results do not have it.
  think_seconds: measured.default(null),
  steps: amount,
  steps_per_second: amount,
  p50_ms: measured,
  p90_ms: measured,
  p95_ms: measured,
  p99_ms: measured,
  server_processes: amount,
  server_cpu_seconds: measured,
  steps_per_cpu_second: measured,
  bytes_per_session: measured,
  error_type: text.transform((name) => name || null),
  error: text.transform((message) => message || null),
});
