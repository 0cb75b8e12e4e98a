import type { ServerViewError, ServerViewSilentWorker, ServerViewWorker } from "../../protocol/web.js";
import type { JournalStatistics } from "./journal-statistics.js";
import type { PickedSessions } from "./pick-sessions.js";
import type { Statistics } from "./statistics.js";

/** Durations since the start: the count of each bucket, and the sum in milliseconds. */
export interface HistogramReport {
  counts: number[];
  sum_ms: number;
}

/** The report of one worker, or of a server without workers. Plain JSON, because it is sent between processes. */
export interface WorkerReport extends PickedSessions {
  worker: ServerViewWorker;
  stepping: number;
  queue_size: number;
  /** Reported at `/readyz`: the worker drains, or an operator has paused it. */
  draining: boolean;
  paused: boolean;
  /** Number of opened sessions, of detached and resumed ones, and of NaN and infinities that were sent as null. */
  opened: number;
  detached: number;
  resumed: number;
  non_finite: number;
  /** Histograms of {@link Statistics}, and of the maximum event loop lag in each second. */
  latency: HistogramReport;
  step_wait: HistogramReport;
  resets: HistogramReport;
  session_wait: HistogramReport;
  loop_lag: HistogramReport;
  /** Counts of each bucket in the last ten seconds. */
  recent_latency: number[];
  /** `up` is null without a journal; `held` are the sessions whose answer waits for its commit. */
  journal: { up: boolean | null; held: number; commits: HistogramReport; restores: JournalStatistics["restores"] };
  errors: Statistics["errors"];
  rejections: Statistics["rejections"];
  recent_errors: ServerViewError[];
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
