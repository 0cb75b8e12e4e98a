import { FAULT_OF, FAULTS } from "../../errors.js";
import { STATUS } from "../../protocol/http.js";
import type { WireCode } from "../../protocol/messages.js";
import type { ServerViewWorker } from "../../protocol/web.js";
import { boundary, Histogram } from "../../session/statistics/histogram.js";
import { COUNTED, type Counts, type MetricText } from "../../session/statistics/metrics.js";
import { PACKAGE_VERSION } from "../../util/package-version.js";
import type { ServerContext } from "../context.js";
import { readHeap } from "../limits/heap.js";
import type { ClusterReport, HistogramReport, MetricValue } from "../worker-report.js";

type Labels = Record<string, string>;

/** What the metrics of a worker are read from. */
interface Source {
  context: ServerContext;
  worker: ServerViewWorker;
}

interface Metric extends MetricText {
  /** Its value in a worker; it has the label `worker`. */
  read?: ((source: Source) => MetricValue | Histogram) | undefined;
  /** Its value for the whole server. */
  readAll?: (report: ClusterReport, context: Pick<ServerContext, "runtime">) => [Labels, number];
}

/** The codes of wire errors that have several causes; the others have that of the table. */
const SEVERAL_CAUSES: readonly WireCode[] = ["EXECUTION_ERROR", "FACTORY_ERROR", "SESSION_ERROR"];

/** Every series exists from the start, so that the first increase counts. */
const ERROR_SERIES = (Object.keys(STATUS) as WireCode[]).flatMap((code) =>
  FAULTS.filter((fault) => FAULT_OF[code] === fault || SEVERAL_CAUSES.includes(code)).map((fault) => ({
    code,
    fault,
  })),
);

/** A metric that the code counts; one with a label has a count for each value of the label. */
function readCount(
  value: number | Histogram | Record<string, number>,
  { labels: [label = ""] = [] }: MetricText,
): MetricValue | Histogram {
  if (typeof value === "number" || value instanceof Histogram) return value;
  return Object.entries(value).map(([key, count]) => [{ [label]: key }, count]);
}

const counted = Object.fromEntries(
  (Object.keys(COUNTED) as (keyof Counts)[]).map((name) => [
    name,
    {
      ...COUNTED[name],
      read: ({ context }: Source) => readCount(context.runtime.statistics.counts[name], COUNTED[name]),
    },
  ]),
) as unknown as Record<keyof Counts, Metric>;

const metric =
  (type: Metric["type"]) =>
  (help: string, read: Metric["read"], more?: string): Metric => ({ type, help, read, more });
const [counter, gauge, histogram] = [metric("counter"), metric("gauge"), metric("histogram")];

/** The metrics of `GET /metrics`. */
export const METRICS = {
  openenv_info: {
    type: "gauge",
    help: "Always 1; the labels name the environment, its version and that of the server.",
    more: "`GET /metadata` also has `server_version`, the version of openenv-ts.",
    labels: ["environment", "version", "mode", "server_version"],
    readAll: (_report, { runtime: { definition, mode } }) => {
      const { name, version } = definition.contract;
      return [{ environment: name, version, mode, server_version: PACKAGE_VERSION }, 1];
    },
  },
  openenv_workers: { type: "gauge", help: "Workers that answered.", readAll: ({ reports }) => [{}, reports.length] },
  openenv_worker_restarts_total: {
    type: "counter",
    help: "Workers that were replaced.",
    readAll: ({ restarts }) => [{}, restarts],
  },
  ...counted,
  openenv_sessions: gauge("Open sessions.", ({ worker }) => worker.sessions),
  openenv_sessions_unclaimed: gauge(
    "Open sessions that can be closed to make room: unused ones, and idle HTTP sessions.",
    ({ worker }) => worker.unclaimed,
    "An HTTP session is idle after 300 s. The other sessions are in use.",
  ),
  openenv_sessions_max: gauge("Capacity, in sessions.", ({ worker }) => worker.max_sessions),
  openenv_sessions_detached: gauge(
    "Open sessions that lost their connection and can be resumed.",
    ({ context }) => context.sessions.keeper?.detached ?? 0,
    "See [sessions that survive](../guide/sessions-that-survive.md).",
  ),
  openenv_sessions_resumed_total: counter(
    "Connections that resumed a session or the sessions of a batch socket.",
    ({ context }) => context.sessions.keeper?.resumed ?? 0,
  ),
  openenv_sessions_waiting: gauge("Peers that wait for a session.", ({ worker }) => worker.waiting),
  openenv_queue_size: gauge("Capacity of the queue, in peers.", ({ context }) => context.sessions.load().queueSize),
  openenv_draining: gauge("1 while the server drains or stops.", ({ context }) => Number(context.draining)),
  openenv_paused: gauge("1 while an operator has paused the server.", ({ context }) =>
    Number(context.sessions.departure.paused),
  ),
  openenv_errors_total: {
    type: "counter",
    help: "Errors sent to clients, by code and by who caused them.",
    more: "See the [codes](errors.md) and [whose fault it was](../guide/sessions-that-survive.md#whose-fault-was-it).",
    labels: ["code", "fault"],
    read: ({ context }) => {
      const { errors } = context.runtime.statistics;
      return ERROR_SERIES.map((labels) => [labels, errors[labels.code]?.[labels.fault] ?? 0]);
    },
  },
  openenv_plugin_failures_total: {
    type: "counter",
    help: "Hooks of plugins that failed or took too long; absent without plugins.",
    more: "See [plugins](../guide/plugins.md#when-a-hook-fails).",
    labels: ["plugin"],
    read: ({ context: { plugins } }) =>
      plugins.mounted.length === 0
        ? null
        : plugins.mounted.map(({ caller }) => [{ plugin: caller.name }, caller.failures]),
  },
  openenv_journal_up: gauge(
    "1 while the journal can be used; absent without one.",
    ({ context: { runtime } }) => {
      const { journalUp } = runtime.statistics;
      return journalUp === null ? null : Number(journalUp);
    },
    "0 after a call that failed because of the [journal](../guide/store.md).",
  ),
  openenv_journal_answers_held: gauge(
    "Sessions whose answer waits for its commit; absent without a journal.",
    ({ context: { runtime, sessions } }) => {
      if (runtime.statistics.journalUp === null) return null;
      return sessions.keeper?.unstored ?? 0;
    },
  ),
  openenv_websockets: gauge("Open WebSockets.", ({ worker }) => worker.sockets),
  openenv_event_loop_lag_seconds: histogram(
    "Maximum delay of the event loop in each second, starting with the first scrape.",
    ({ context }) => context.gauge.lag,
  ),
  process_cpu_seconds_total: counter(
    "CPU seconds used.",
    ({ worker }) => worker.cpu_s,
    "Threads and processes of isolated sessions are not included.",
  ),
  process_resident_memory_bytes: gauge("Resident memory.", ({ worker }) => worker.rss_bytes),
  openenv_heap_used_bytes: gauge("JavaScript heap in use; absent on Bun and Deno.", () => readHeap()?.used ?? null),
  openenv_heap_limit_bytes: gauge(
    "Limit of the JavaScript heap; absent on Bun and Deno.",
    () => readHeap()?.limit ?? null,
    "A worker that needs more ends, with its sessions. `HEAP_MB` sets it.",
  ),
  process_open_fds: gauge("Open file descriptors.", ({ worker }) => worker.descriptors),
  process_max_fds: gauge("Limit on open file descriptors.", ({ worker }) => worker.max_descriptors),
  process_start_time_seconds: gauge("Start time of the process, in Unix seconds.", ({ worker }) =>
    Math.round(Date.now() / 1000 - worker.uptime_s),
  ),
} satisfies Record<string, Metric>;

/** A scrape gets one bucket for each octave of the internal buckets, from 16 µs to 524 s. */
const FIRST_LE_MS = 2 ** -6;
const LAST_LE_MS = 2 ** 19;

/** The metrics of the server, of its environment and of its plugins. */
function listMetrics({ plugins, runtime }: Pick<ServerContext, "plugins" | "runtime">): [string, Metric][] {
  const environment = Object.entries<Metric>(runtime.definition.metrics ?? {});
  const own = plugins.mounted.flatMap(({ plugin: { metrics = {} }, server }) =>
    Object.entries(metrics).map(([name, row]): [string, Metric] => [
      name,
      { ...row, read: () => readCount(server.metrics[name] as number, row) },
    ]),
  );
  return [...Object.entries<Metric>(METRICS), ...environment, ...own];
}

/** Reads the metrics of this worker. */
export function readMetrics(source: Source): Record<string, MetricValue> {
  const metrics = listMetrics(source.context);
  return Object.fromEntries(
    metrics.flatMap(([name, { read }]) => {
      const value = read?.(source);
      if (value === undefined) return [];
      if (!(value instanceof Histogram)) return [[name, value]];
      const { counts, sum: sum_ms, exemplar } = value;
      return [[name, { counts: [...counts], sum_ms, exemplar }]];
    }),
  );
}

/** True if a trace is shown with a step, which only OpenMetrics can render. */
export function hasExemplar({ reports }: ClusterReport): boolean {
  const name: keyof Counts = "openenv_step_duration_seconds";
  return reports.some(({ metrics }) => (metrics[name] as HistogramReport | undefined)?.exemplar !== undefined);
}

/** Renders the text format 0.0.4 of Prometheus, or OpenMetrics 1.0 with exemplars. */
export function renderMetrics(
  report: ClusterReport,
  context: Pick<ServerContext, "runtime" | "plugins">,
  isOpen = false,
): string {
  const lines = listMetrics(context).flatMap(([name, { type, help, readAll }]) => {
    const samples =
      readAll === undefined
        ? report.reports.flatMap(({ worker, metrics }) =>
            renderValue(name, { worker: String(worker.worker) }, metrics[name] ?? null, isOpen),
          )
        : [sample(name, ...readAll(report, context))];
    if (samples.length === 0) return [];
    // In OpenMetrics the name of a counter has no suffix, and its samples must have it.
    const family = isOpen && type === "counter" ? name.replace(/_total$/, "") : name;
    const shown = isOpen && type === "counter" && family === name ? "unknown" : type;
    return [`# HELP ${family} ${help}`, `# TYPE ${family} ${shown}`, ...samples];
  });
  return `${lines.join("\n")}\n${isOpen ? "# EOF\n" : ""}`;
}

function renderValue(name: string, labels: Labels, value: MetricValue, isOpen: boolean): string[] {
  if (value === null) return [];
  if (typeof value === "number") return [sample(name, labels, value)];
  if ("counts" in value) return renderHistogram(name, labels, isOpen ? value : { ...value, exemplar: undefined });
  return value.map(([more, count]) => sample(name, { ...labels, ...more }, count));
}

function renderHistogram(name: string, labels: Labels, { counts, sum_ms, exemplar }: HistogramReport): string[] {
  const lines: string[] = [];
  let left = exemplar;
  const bucketOf = (leMs: number, value: number): string => {
    const line = sample(
      `${name}_bucket`,
      { ...labels, le: leMs === Number.POSITIVE_INFINITY ? "+Inf" : String(leMs / 1000) },
      value,
    );
    if (left === undefined || left.ms > leMs || value === 0) return line;
    const shown = `${line} # ${sample("", left.labels, left.ms / 1000)} ${left.at / 1000}`;
    left = undefined;
    return shown;
  };
  let below = 0;
  for (const [bucket, count] of counts.entries()) {
    below += count;
    const le = boundary(bucket);
    const isShown = Number.isInteger(Math.log2(le)) && le >= FIRST_LE_MS && le <= LAST_LE_MS;
    if (isShown) lines.push(bucketOf(le, below));
  }
  lines.push(bucketOf(Number.POSITIVE_INFINITY, below));
  return [...lines, sample(`${name}_sum`, labels, sum_ms / 1000), sample(`${name}_count`, labels, below)];
}

function sample(name: string, labels: Labels, value: number): string {
  const pairs = Object.entries(labels).map(([key, text]) => `${key}="${escapeLabel(text)}"`);
  return `${name}${pairs.length === 0 ? "" : `{${pairs.join(",")}}`} ${value}`;
}

function escapeLabel(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n").replaceAll('"', '\\"');
}
