import type { SessionQuery } from "../../protocol/session-query.js";
import type { ServerViewWorker } from "../../protocol/web.js";
import type { Session } from "../../session/session.js";
import { pickSessions } from "../../session/statistics/pick-sessions.js";
import { handleOf } from "../access/session-handle.js";
import type { ServerContext } from "../context.js";
import { cpuSeconds, openDescriptors } from "../limits/gauge.js";
import type { WorkerReport } from "../worker-report.js";
import { readMetrics } from "./metrics.js";

/** A session counts as stepping for this long after its last call. */
const ACTIVE_MS = 1_000;

export async function makeReport(context: ServerContext, query: SessionQuery): Promise<WorkerReport> {
  const { runtime, sessions, descriptors, cluster } = context;
  const { statistics } = runtime;
  const number = cluster?.number ?? 0;
  const open = [...sessions.all];
  const since = performance.now() - ACTIVE_MS;
  const { latency, ...gauges } = context.gauge.read();
  const { active, unclaimed, max, waiting, queueSize } = sessions.load();
  const worker: ServerViewWorker = {
    worker: number,
    pid: process.pid,
    uptime_s: process.uptime(),
    sessions: active,
    unclaimed,
    max_sessions: max,
    waiting,
    steps: statistics.counts.openenv_steps_total,
    ...gauges,
    cpu_s: cpuSeconds(),
    rss_bytes: process.memoryUsage.rss(),
    sockets: context.openSockets(),
    descriptors: await openDescriptors(),
    max_descriptors: Number.isFinite(descriptors.limit) ? descriptors.limit : null,
  };
  const views = new Map((query.limit === 0 ? [] : open).map((session) => [session.view(number), session]));
  const { sessions: picked, found } = pickSessions([...views.keys()], query);
  return {
    worker,
    metrics: readMetrics({ context, worker }),
    queue_size: queueSize,
    in_use: sessions.inUse,
    recent_latency: latency,
    errors: statistics.errors,
    recent_errors: statistics.recentErrors().map((error) => ({ ...error, worker: number })),
    failures: statistics.failures.all.map((failure) => ({ ...failure, worker: number })),
    errors_by_minute: statistics.failures.byMinute(),
    stepping: open.filter(({ busy, lastActivityAt }) => busy || lastActivityAt >= since).length,
    found,
    sessions: picked.map((view) => ({ ...view, handle: handleOf(views.get(view) as Session) })),
  };
}
