import { FAULT_OF, FAULTS } from "../../errors.js";
import type { WireCode } from "../../protocol/messages.js";
import { boundary } from "../../session/statistics/histogram.js";
import { RESTORE_RESULTS } from "../../session/statistics/journal-statistics.js";
import { REJECTION_REASONS } from "../../session/statistics/statistics.js";
import type { ClusterReport, HistogramReport, WorkerReport } from "../../session/statistics/worker-report.js";
import { PACKAGE_VERSION } from "../../util/package-version.js";
import type { ServerContext } from "../context.js";
import { STATUS } from "../http/respond.js";

type Labels = Record<string, string>;

/** Exactly one of the three members reads the value of a worker; none for a metric of the whole server. */
interface Metric {
  type: "counter" | "gauge" | "histogram";
  help: string;
  /** Null when it is unknown. */
  value?: (report: WorkerReport) => number | null;
  /** Values by further labels. Every combination exists from the start, so that the first increase counts. */
  series?: (report: WorkerReport) => [Labels, number][];
  histogram?: (report: WorkerReport) => HistogramReport;
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

/** The metrics of `GET /metrics`; all but the first three have the label `worker`. */
export const METRICS = {
  openenv_info: {
    type: "gauge",
    help: "Always 1; the labels name the environment, its version and that of the server.",
  },
  openenv_workers: { type: "gauge", help: "Workers that answered." },
  openenv_worker_restarts_total: { type: "counter", help: "Workers that were replaced." },
  openenv_sessions: { type: "gauge", help: "Open sessions.", value: ({ worker }) => worker.sessions },
  openenv_sessions_unclaimed: {
    type: "gauge",
    help: "Open sessions that can be closed to make room: unused ones, and idle HTTP sessions.",
    value: ({ worker }) => worker.unclaimed,
  },
  openenv_sessions_max: { type: "gauge", help: "Capacity, in sessions.", value: ({ worker }) => worker.max_sessions },
  openenv_sessions_opened_total: { type: "counter", help: "Sessions opened.", value: ({ opened }) => opened },
  openenv_sessions_detached: {
    type: "gauge",
    help: "Open sessions that lost their connection and can be resumed.",
    value: ({ detached }) => detached,
  },
  openenv_sessions_resumed_total: {
    type: "counter",
    help: "Connections that resumed a session or the sessions of a batch socket.",
    value: ({ resumed }) => resumed,
  },
  openenv_sessions_waiting: {
    type: "gauge",
    help: "Peers that wait for a session.",
    value: ({ worker }) => worker.waiting,
  },
  openenv_session_wait_seconds: {
    type: "histogram",
    help: "Time in the queue of peers that got a session.",
    histogram: ({ session_wait }) => session_wait,
  },
  openenv_queue_size: {
    type: "gauge",
    help: "Capacity of the queue, in peers.",
    value: ({ queue_size }) => queue_size,
  },
  openenv_rejections_total: {
    type: "counter",
    help: "Rejected sessions and connections, by reason.",
    series: ({ rejections }) => REJECTION_REASONS.map((reason) => [{ reason }, rejections[reason] ?? 0]),
  },
  openenv_draining: {
    type: "gauge",
    help: "1 while the server drains or stops.",
    value: ({ draining }) => Number(draining),
  },
  openenv_paused: {
    type: "gauge",
    help: "1 while an operator has paused the server.",
    value: ({ paused }) => Number(paused),
  },
  openenv_steps_total: { type: "counter", help: "Steps answered.", value: ({ worker }) => worker.steps },
  openenv_step_duration_seconds: {
    type: "histogram",
    help: "Time from the arrival of a step to its answer, without the network.",
    histogram: ({ latency }) => latency,
  },
  openenv_step_wait_seconds: {
    type: "histogram",
    help: "Time from the arrival of a step to its start; before the first scrape without the time in the kernel.",
    histogram: ({ step_wait }) => step_wait,
  },
  openenv_reset_duration_seconds: {
    type: "histogram",
    help: "Time from the arrival of a reset to its answer, without the network.",
    histogram: ({ resets }) => resets,
  },
  openenv_errors_total: {
    type: "counter",
    help: "Errors sent to clients, by code and by who caused them.",
    series: ({ errors }) => ERROR_SERIES.map((labels) => [labels, errors[labels.code]?.[labels.fault] ?? 0]),
  },
  openenv_journal_up: {
    type: "gauge",
    help: "1 while the journal can be used; absent without one.",
    value: ({ journal }) => (journal.up === null ? null : Number(journal.up)),
  },
  openenv_journal_commit_seconds: {
    type: "histogram",
    help: "Durations of the journal's commits.",
    histogram: ({ journal }) => journal.commits,
  },
  openenv_journal_answers_held: {
    type: "gauge",
    help: "Sessions whose answer waits for its commit; absent without a journal.",
    value: ({ journal }) => (journal.up === null ? null : journal.held),
  },
  openenv_journal_restores_total: {
    type: "counter",
    help: "Sessions that were to be restored from the journal, by result.",
    series: ({ journal }) => RESTORE_RESULTS.map((result) => [{ result }, journal.restores[result]]),
  },
  openenv_values_not_finite_total: {
    type: "counter",
    help: "NaN and infinities of environments, sent as null.",
    value: ({ non_finite }) => non_finite,
  },
  openenv_websockets: { type: "gauge", help: "Open WebSockets.", value: ({ worker }) => worker.sockets },
  openenv_event_loop_lag_seconds: {
    type: "histogram",
    help: "Maximum delay of the event loop in each second, starting with the first scrape.",
    histogram: ({ loop_lag }) => loop_lag,
  },
  process_cpu_seconds_total: { type: "counter", help: "CPU seconds used.", value: ({ worker }) => worker.cpu_s },
  process_resident_memory_bytes: { type: "gauge", help: "Resident memory.", value: ({ worker }) => worker.rss_bytes },
  process_open_fds: { type: "gauge", help: "Open file descriptors.", value: ({ worker }) => worker.descriptors },
  process_max_fds: {
    type: "gauge",
    help: "Limit on open file descriptors.",
    value: ({ worker }) => worker.max_descriptors,
  },
  process_start_time_seconds: {
    type: "gauge",
    help: "Start time of the process, in Unix seconds.",
    value: ({ worker }) => Math.round(Date.now() / 1000 - worker.uptime_s),
  },
} as const satisfies Record<string, Metric>;

/** A scrape gets one bucket for each octave of the internal buckets, from 16 µs to 524 s. */
const FIRST_LE_MS = 2 ** -6;
const LAST_LE_MS = 2 ** 19;

/** Renders the text format 0.0.4 of Prometheus. */
export function renderMetrics(
  { reports, restarts }: ClusterReport,
  { runtime }: Pick<ServerContext, "runtime">,
): string {
  const { contract } = runtime.definition;
  const ofAll: Record<string, string> = {
    openenv_info: sample(
      "openenv_info",
      { environment: contract.name, version: contract.version, mode: runtime.mode, server_version: PACKAGE_VERSION },
      1,
    ),
    openenv_workers: sample("openenv_workers", {}, reports.length),
    openenv_worker_restarts_total: sample("openenv_worker_restarts_total", {}, restarts),
  };
  const lines = Object.entries(METRICS).flatMap(([name, metric]: [string, Metric]) => {
    const samples = ofAll[name] ?? reports.flatMap((report) => renderWorker(name, metric, report));
    return samples.length === 0
      ? []
      : [`# HELP ${name} ${metric.help}`, `# TYPE ${name} ${metric.type}`, samples].flat();
  });
  return `${lines.join("\n")}\n`;
}

function renderWorker(name: string, { value, series, histogram }: Metric, report: WorkerReport): string[] {
  const labels = { worker: String(report.worker.worker) };
  if (histogram !== undefined) return renderHistogram(name, labels, histogram(report));
  if (series !== undefined) return series(report).map(([more, count]) => sample(name, { ...labels, ...more }, count));
  const found = value?.(report) ?? null;
  return found === null ? [] : [sample(name, labels, found)];
}

function renderHistogram(name: string, labels: Labels, { counts, sum_ms }: HistogramReport): string[] {
  const lines: string[] = [];
  let below = 0;
  for (const [bucket, count] of counts.entries()) {
    below += count;
    const le = boundary(bucket);
    const isShown = Number.isInteger(Math.log2(le)) && le >= FIRST_LE_MS && le <= LAST_LE_MS;
    if (isShown) lines.push(sample(`${name}_bucket`, { ...labels, le: String(le / 1000) }, below));
  }
  lines.push(sample(`${name}_bucket`, { ...labels, le: "+Inf" }, below));
  return [...lines, sample(`${name}_sum`, labels, sum_ms / 1000), sample(`${name}_count`, labels, below)];
}

function sample(name: string, labels: Labels, value: number): string {
  const pairs = Object.entries(labels).map(([key, text]) => `${key}="${escapeLabel(text)}"`);
  return `${name}${pairs.length === 0 ? "" : `{${pairs.join(",")}}`} ${value}`;
}

function escapeLabel(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n").replaceAll('"', '\\"');
}
