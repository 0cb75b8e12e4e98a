import type { ServerViewError, ServerViewSilentWorker, ServerViewWorker } from "../../protocol/web.js";
import type { PickedSessions } from "./pick-sessions.js";
import type { Statistics } from "./statistics.js";

/** Times since the start: how many in each bucket, and all of them together in milliseconds. */
export interface HistogramReport {
  counts: number[];
  sum_ms: number;
}

/** What one worker, or a server without any, has to say about itself. Plain JSON: it crosses between processes. */
export interface WorkerReport extends PickedSessions {
  worker: ServerViewWorker;
  stepping: number;
  queue_size: number;
  /** It says at `/readyz` that it drains, or that an operator has paused it. */
  draining: boolean;
  paused: boolean;
  /** Sessions that were opened, and NaN and infinities that went out as null. */
  opened: number;
  non_finite: number;
  /** Of {@link Statistics}, and how late the event loop was at most in each second. */
  latency: HistogramReport;
  step_wait: HistogramReport;
  resets: HistogramReport;
  session_wait: HistogramReport;
  loop_lag: HistogramReport;
  /** By bucket, of the last ten seconds. */
  recent_latency: number[];
  errors: Statistics["errors"];
  rejections: Statistics["rejections"];
  recent_errors: ServerViewError[];
}

/** A worker that was lost. */
export type LostWorker = ServerViewError & { code: "WORKER_LOST" };

/** What all workers have to say, and who watches over them. */
export interface ClusterReport {
  reports: WorkerReport[];
  /** Those that did not answer. */
  silent: ServerViewSilentWorker[];
  restarts: number;
  lost: readonly LostWorker[];
}
