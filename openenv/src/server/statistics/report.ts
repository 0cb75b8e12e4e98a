import type { ServerViewError, ServerViewSession, ServerViewWorker } from "../../protocol/web.js";
import type { ServerContext } from "../context.js";
import { cpuSeconds, openDescriptors } from "./gauge.js";
import type { Statistics } from "./statistics.js";

/** What one worker, or a server without any, has to say about itself. Plain JSON: it crosses between processes. */
export interface WorkerReport {
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
  /** Those active last first. */
  sessions: ServerViewSession[];
}

/** A worker that was lost. */
export type LostWorker = ServerViewError & { code: "WORKER_LOST" };

/** What all workers have to say, and who watches over them. */
export interface FleetReport {
  reports: WorkerReport[];
  restarts: number;
  lost: LostWorker[];
}

/** A session counts as stepping so long after its latest call. */
const ACTIVE_MS = 1_000;

export async function makeReport(context: ServerContext, maxSessions: number): Promise<WorkerReport> {
  const { runtime, sessions, descriptors, fleet } = context;
  const { statistics } = runtime;
  const number = fleet?.number ?? 0;
  const { latency, ...gauges } = context.gauge.read();
  const { active, max, waiting, places } = sessions.load();
  return {
    worker: {
      worker: number,
      pid: process.pid,
      uptime_s: process.uptime(),
      sessions: active,
      max_sessions: max,
      waiting,
      steps: statistics.steps,
      ...gauges,
      cpu_s: cpuSeconds(),
      rss_bytes: process.memoryUsage.rss(),
      sockets: context.openSockets(),
      descriptors: await openDescriptors(),
      max_descriptors: Number.isFinite(descriptors.limit) ? descriptors.limit : null,
    },
    queue_size: places,
    opened: statistics.sessions,
    non_finite: statistics.nonFinite,
    latency: { counts: [...statistics.latency.counts], sum_ms: statistics.latency.sum },
    recent_latency: latency,
    errors: statistics.errors,
    recent_errors: statistics.recentErrors().map((error) => ({ ...error, worker: number })),
    ...sessions.watch(maxSessions, Date.now() - ACTIVE_MS),
  };
}
