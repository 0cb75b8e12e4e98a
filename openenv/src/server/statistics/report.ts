import type { SessionQuery } from "../../protocol/session-query.js";
import type { ServerContext } from "../context.js";
import { cpuSeconds, openDescriptors } from "./gauge.js";
import { pickSessions } from "./pick-sessions.js";
import type { WorkerReport } from "./worker-report.js";

/** A session counts as stepping so long after its latest call. */
const ACTIVE_MS = 1_000;

export async function makeReport(context: ServerContext, query: SessionQuery): Promise<WorkerReport> {
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
    stepping: sessions.stepping(performance.now() - ACTIVE_MS),
    ...pickSessions(query.limit === 0 ? [] : sessions.views(), query, Date.now() / 1000),
  };
}
