import { Histogram } from "./histogram.js";

/** What `/metrics` and docs/reference/metrics.md say about a metric. */
export interface MetricText {
  type: "counter" | "gauge" | "histogram";
  /** One sentence, without Markdown. */
  help: string;
  /** More about it, in Markdown, for the docs. */
  more?: string | undefined;
  labels?: readonly string[];
}

/** A metric that is counted where it happens. */
export interface MetricRow extends MetricText {
  /** The values of its label. Each has a count from the start, so that the first increase is seen. */
  values?: readonly string[];
}

/**
 * The metrics that the code counts where it happens, as in `statistics.counts.openenv_steps_total++`. Those that are read
 * from the server when it is scraped are in `server/metrics/metrics.ts`.
 */
export const COUNTED = {
  openenv_sessions_opened_total: { type: "counter", help: "Sessions opened." },
  openenv_session_wait_seconds: { type: "histogram", help: "Time in the queue of peers that got a session." },
  openenv_rejections_total: {
    type: "counter",
    help: "Rejected sessions and connections, by reason.",
    more: "`full`: all are in use; `queue_timeout`: none became free within `QUEUE_TIMEOUT`; `http_reset`: all were in use, and a `POST /reset` got an environment for that request alone; `paused` by an operator; `draining`; `descriptors`: none were left, and a WebSocket or a new connection was refused.",
    labels: ["reason"],
    values: ["full", "queue_timeout", "http_reset", "paused", "draining", "descriptors"],
  },
  openenv_steps_total: { type: "counter", help: "Steps answered." },
  openenv_step_duration_seconds: {
    type: "histogram",
    help: "Time from the arrival of a step to its answer, without the network.",
  },
  openenv_step_wait_seconds: {
    type: "histogram",
    help: "Time from the arrival of a step to its start; before the first scrape without the time in the kernel.",
    more: "A step waits behind an earlier call of its session, or behind other sessions of the process.",
  },
  openenv_reset_duration_seconds: {
    type: "histogram",
    help: "Time from the arrival of a reset to its answer, without the network.",
  },
  openenv_journal_commit_seconds: { type: "histogram", help: "Durations of the journal's commits that succeeded." },
  openenv_journal_restores_total: {
    type: "counter",
    help: "Sessions that were to be restored from the journal, by result.",
    more: "`restored`; `lost`; `elsewhere`: another server still has the session; `unavailable`: no room, or no journal, now.",
    labels: ["result"],
    values: ["restored", "lost", "elsewhere", "unavailable"],
  },
  openenv_values_not_finite_total: { type: "counter", help: "NaN and infinities of environments, sent as null." },
} as const satisfies Record<string, MetricRow>;

type CountOf<Row extends MetricRow> = Row extends { type: "histogram" }
  ? Histogram
  : Row extends { values: readonly (infer Value extends string)[] }
    ? Record<Value, number>
    : number;
/** The counts of a table of metrics. A histogram records milliseconds. */
export type CountsOf<Table extends Readonly<Record<string, MetricRow>>> = {
  -readonly [Name in keyof Table]: CountOf<Table[Name]>;
};
export type Counts = CountsOf<typeof COUNTED>;
export type RejectionReason = keyof Counts["openenv_rejections_total"];

export function startCounts<Table extends Readonly<Record<string, MetricRow>>>(table: Table): CountsOf<Table> {
  const start = ({ type, values }: MetricRow) =>
    type === "histogram" ? new Histogram() : values ? Object.fromEntries(values.map((value) => [value, 0])) : 0;
  return Object.fromEntries(
    Object.entries(table).map(([name, row]) => [name, start(row)]),
  ) as unknown as CountsOf<Table>;
}
