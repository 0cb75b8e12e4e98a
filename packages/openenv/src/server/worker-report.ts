import type {
  ServerViewError,
  ServerViewFailure,
  ServerViewListedSession,
  ServerViewSilentWorker,
  ServerViewWorker,
} from "../protocol/web.js";
import type { Exemplar } from "../session/statistics/histogram.js";
import type { Statistics } from "../session/statistics/statistics.js";

/** Durations since the start: the count of each bucket, and the sum in milliseconds. */
export interface HistogramReport {
  counts: number[];
  sum_ms: number;
  exemplar?: Exemplar | undefined;
}

/** The value of a metric, or one for each combination of its labels. Null when it is unknown. */
export type MetricValue = number | null | HistogramReport | [Record<string, string>, number][];

/** The report of one worker, or of a server without workers. Plain JSON, because it is sent between processes. */
export interface WorkerReport {
  worker: ServerViewWorker;
  metrics: Record<string, MetricValue>;
  /** The first of those that match a query, and the number of matches. */
  sessions: ServerViewListedSession[];
  found: number;
  stepping: number;
  in_use: number;
  queue_size: number;
  /** Counts of each bucket in the last ten seconds. */
  recent_latency: number[];
  errors: Statistics["errors"];
  recent_errors: ServerViewError[];
  failures: ServerViewFailure[];
  errors_by_minute: number[];
}

/** The loss of a worker. */
export type LostWorker = ServerViewError & { code: "WORKER_LOST" };

/** The reports of all workers and of the supervisor. */
export interface ClusterReport {
  reports: WorkerReport[];
  /** Workers that did not answer. */
  silent: ServerViewSilentWorker[];
  restarts: number;
  lost: readonly LostWorker[];
}
