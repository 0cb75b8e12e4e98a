import { packageVersion } from "../../util/package-version.js";
import type { ServerContext } from "../context.js";
import { boundary } from "./histogram.js";
import type { FleetReport, WorkerReport } from "./worker-report.js";

interface Metric {
  type: "counter" | "gauge" | "histogram";
  help: string;
  /** Of one worker; null where it is not known. A histogram and what has other labels render their own samples. */
  value?: (report: WorkerReport) => number | null;
}

/** The names of `GET /metrics`; but for the first three all have the label `worker`. */
export const METRICS = {
  openenv_info: { type: "gauge", help: "Always 1; the labels say what is served by which version." },
  openenv_workers: { type: "gauge", help: "Processes that serve and answered." },
  openenv_worker_restarts_total: { type: "counter", help: "Workers that were lost and replaced." },
  openenv_sessions: { type: "gauge", help: "Open sessions.", value: ({ worker }) => worker.sessions },
  openenv_sessions_max: { type: "gauge", help: "Capacity, in sessions.", value: ({ worker }) => worker.max_sessions },
  openenv_sessions_opened_total: { type: "counter", help: "Sessions that were opened.", value: ({ opened }) => opened },
  openenv_sessions_waiting: { type: "gauge", help: "Peers that wait for one.", value: ({ worker }) => worker.waiting },
  openenv_queue_size: { type: "gauge", help: "Peers that may wait.", value: ({ queue_size }) => queue_size },
  openenv_steps_total: { type: "counter", help: "Steps that were answered.", value: ({ worker }) => worker.steps },
  openenv_step_duration_seconds: { type: "histogram", help: "From a step's start to its answer, without the wire." },
  openenv_errors_total: { type: "counter", help: "Errors that clients were told, by code." },
  openenv_values_not_finite_total: {
    type: "counter",
    help: "NaN and infinities of environments that were sent as null.",
    value: ({ non_finite }) => non_finite,
  },
  openenv_websockets: { type: "gauge", help: "Open WebSockets.", value: ({ worker }) => worker.sockets },
  openenv_event_loop_lag_seconds: {
    type: "gauge",
    help: "How late the event loop was at most 99 times in 100 over the last second.",
    value: ({ worker }) => worker.loop_lag_ms / 1000,
  },
  process_cpu_seconds_total: { type: "counter", help: "CPU seconds used.", value: ({ worker }) => worker.cpu_s },
  process_resident_memory_bytes: { type: "gauge", help: "Resident memory.", value: ({ worker }) => worker.rss_bytes },
  process_open_fds: { type: "gauge", help: "Open file descriptors.", value: ({ worker }) => worker.descriptors },
  process_max_fds: { type: "gauge", help: "Limit of them.", value: ({ worker }) => worker.max_descriptors },
  process_start_time_seconds: {
    type: "gauge",
    help: "When the process began, in Unix seconds.",
    value: ({ worker }) => Math.round(Date.now() / 1000 - worker.uptime_s),
  },
} as const satisfies Record<string, Metric>;

type Name = keyof typeof METRICS;

/** Of the buckets that are kept, what a scrape gets: an octave each, from 16 µs to 16 s. */
const FIRST_LE_MS = 2 ** -6;
const LAST_LE_MS = 2 ** 14;

/** The text format 0.0.4 of Prometheus. */
export function renderMetrics({ reports, restarts }: FleetReport, { runtime }: Pick<ServerContext, "runtime">): string {
  const { contract } = runtime.definition;
  const own: Partial<Record<Name, (name: Name) => string[]>> = {
    openenv_info: (name) => [
      sample(name, { environment: contract.name, version: packageVersion(), mode: runtime.mode }, 1),
    ],
    openenv_workers: (name) => [sample(name, {}, reports.length)],
    openenv_worker_restarts_total: (name) => [sample(name, {}, restarts)],
    openenv_step_duration_seconds: (name) => reports.flatMap((report) => renderHistogram(name, report)),
    openenv_errors_total: (name) => reports.flatMap((report) => renderErrors(name, report)),
  };
  const lines = Object.entries(METRICS).flatMap(([key, metric]: [string, Metric]) => {
    const name = key as Name;
    const samples = own[name]?.(name) ?? reports.flatMap((report) => renderValue(name, metric, report));
    return samples.length === 0 ? [] : [`# HELP ${name} ${metric.help}`, `# TYPE ${name} ${metric.type}`, ...samples];
  });
  return `${lines.join("\n")}\n`;
}

function renderValue(name: string, { value }: Metric, report: WorkerReport): string[] {
  const found = value?.(report) ?? null;
  return found === null ? [] : [sample(name, labelOf(report), found)];
}

function renderErrors(name: string, report: WorkerReport): string[] {
  return Object.entries(report.errors).map(([code, count]) => sample(name, { ...labelOf(report), code }, count));
}

function renderHistogram(name: string, report: WorkerReport): string[] {
  const { counts, sum_ms } = report.latency;
  const labels = labelOf(report);
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

function labelOf({ worker }: WorkerReport): Record<string, string> {
  return { worker: String(worker.worker) };
}

function sample(name: string, labels: Record<string, string>, value: number): string {
  const pairs = Object.entries(labels).map(([key, text]) => `${key}="${escapeLabel(text)}"`);
  return `${name}${pairs.length === 0 ? "" : `{${pairs.join(",")}}`} ${value}`;
}

function escapeLabel(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n").replaceAll('"', '\\"');
}
