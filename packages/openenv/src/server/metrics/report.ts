import type { SessionQuery } from "../../protocol/session-query.js";
import type { Histogram } from "../../session/statistics/histogram.js";
import { pickSessions } from "../../session/statistics/pick-sessions.js";
import type { HistogramReport, WorkerReport } from "../../session/statistics/worker-report.js";
import type { ServerContext } from "../context.js";
import { cpuSeconds, openDescriptors } from "./gauge.js";

/** A session counts as stepping for this long after its last call. */
const ACTIVE_MS = 1_000;

export async function makeReport(context: ServerContext, query: SessionQuery): Promise<WorkerReport> {
  const { runtime, sessions, descriptors, cluster } = context;
  const { statistics } = runtime;
  const number = cluster?.number ?? 0;
  const { latency, ...gauges } = context.gauge.read();
  const { active, unclaimed, max, waiting, queueSize } = sessions.load();
  return {
    worker: {
      worker: number,
      pid: process.pid,
      uptime_s: process.uptime(),
      sessions: active,
      unclaimed,
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
    queue_size: queueSize,
    draining: context.draining,
    paused: sessions.paused,
    opened: statistics.sessions,
    detached: sessions.resumptions.detached,
    resumed: sessions.resumptions.resumed,
    non_finite: statistics.nonFinite,
    latency: read(statistics.latency),
    step_wait: read(statistics.stepWait),
    resets: read(statistics.resets),
    session_wait: read(statistics.sessionWait),
    loop_lag: read(context.gauge.lag),
    journal: {
      up: statistics.journal.isUp,
      held: [...sessions.resumptions.all()].filter(({ journal }) => journal?.isWriting).length,
      commits: read(statistics.journal.commits),
      restores: statistics.journal.restores,
    },
    recent_latency: latency,
    errors: statistics.errors,
    rejections: statistics.rejections,
    recent_errors: statistics.recentErrors().map((error) => ({ ...error, worker: number })),
    stepping: sessions.stepping(performance.now() - ACTIVE_MS),
    ...pickSessions(query.limit === 0 ? [] : sessions.views(), query, Date.now() / 1000),
  };
}

function read({ counts, sum }: Histogram): HistogramReport {
  return { counts: [...counts], sum_ms: sum };
}
