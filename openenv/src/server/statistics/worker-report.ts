import type { ServerViewError, ServerViewWorker } from "../../protocol/web.js";
import type { PickedSessions } from "./pick-sessions.js";
import type { Statistics } from "./statistics.js";

/** What one worker, or a server without any, has to say about itself. Plain JSON: it crosses between processes. */
export interface WorkerReport extends PickedSessions {
  worker: ServerViewWorker;
  stepping: number;
  queue_size: number;
  /** Sessions that were opened, and NaN and infinities that went out as null. */
  opened: number;
  non_finite: number;
  /** Step latencies since the start: how many in each bucket, and all of them together in milliseconds. */
  latency: { counts: number[]; sum_ms: number };
  /** By bucket, of the last ten seconds. */
  recent_latency: number[];
  errors: Statistics["errors"];
  recent_errors: ServerViewError[];
}

/** A worker that was lost. */
export type LostWorker = ServerViewError & { code: "WORKER_LOST" };

/** What all workers have to say, and who watches over them. */
export interface FleetReport {
  reports: WorkerReport[];
  restarts: number;
  lost: readonly LostWorker[];
}
