import type { ErrorData } from "../../protocol/messages.js";
import type { SessionQuery } from "../../protocol/session-query.js";
import {
  MAX_REPORTED_ERRORS,
  type ServerView,
  type ServerViewError,
  type ServerViewFailure,
} from "../../protocol/web.js";
import { totalCapacity } from "../../session/registry/capacity.js";
import { patternOf } from "../../session/statistics/failures.js";
import { addCounts, percentile } from "../../session/statistics/histogram.js";
import { sortSessions } from "../../session/statistics/pick-sessions.js";
import { PACKAGE_VERSION } from "../../util/package-version.js";
import type { ServerContext } from "../context.js";
import type { ClusterReport, WorkerReport } from "../worker-report.js";
import type { METRICS } from "./metrics.js";
import { makeReport } from "./report.js";

/** Requests the report of every worker; those that do not answer are `silent`. */
export async function askAll(context: ServerContext, query: SessionQuery): Promise<ClusterReport> {
  if (context.cluster !== undefined) return context.cluster.reports(query);
  return { reports: [await makeReport(context, query)], silent: [], restarts: 0, lost: [] };
}

/** Renders the body of `GET /web/server`. */
export function renderView(
  { reports, silent, restarts, lost }: ClusterReport,
  context: ServerContext,
  query: SessionQuery,
): ServerView {
  const workers = reports.map(({ worker }) => worker).sort((a, b) => a.worker - b.worker);
  // It is unknown which sessions of a silent worker could be closed to make room.
  const all = [...workers, ...silent.map((one) => ({ ...one, unclaimed: 0 }))];
  const sum = (value: (report: WorkerReport) => number): number =>
    reports.reduce((total, one) => total + value(one), 0);
  const latency = addCounts(reports.map(({ recent_latency }) => recent_latency));
  const [p50, p99] = [percentile(latency, 0.5), percentile(latency, 0.99)];
  // The newest first, also among errors of the same millisecond.
  const recent = [...reports.flatMap(({ recent_errors }) => recent_errors), ...lost].reverse();
  const sessions = reports.flatMap((report) => report.sessions);
  const at = Date.now() / 1000;
  const { name, version } = context.runtime.definition.contract;
  const isAny = (metric: keyof typeof METRICS, value = 1) => reports.some(({ metrics }) => metrics[metric] === value);
  return {
    at,
    server_version: PACKAGE_VERSION,
    name,
    version,
    mode: context.runtime.mode,
    uptime_s: Math.max(0, ...workers.map(({ uptime_s }) => uptime_s)),
    draining: isAny("openenv_draining"),
    paused: isAny("openenv_paused"),
    journal: isAny("openenv_journal_up", 0) ? "unavailable" : isAny("openenv_journal_up") ? "ok" : "off",
    capacity: totalCapacity(all.map((one) => ({ ...one, active: one.sessions, max: one.max_sessions }))),
    in_use: sum(({ in_use }) => in_use) + silent.reduce((total, { sessions }) => total + sessions, 0),
    stepping: sum(({ stepping }) => stepping),
    waiting: sum(({ worker }) => worker.waiting),
    queue_size: sum(({ queue_size }) => queue_size),
    steps: sum(({ worker }) => worker.steps),
    steps_per_second: sum(({ worker }) => worker.steps_per_second),
    latency_ms: p50 === null || p99 === null ? null : { p50, p99 },
    errors: sumErrors(reports),
    recent_errors: recent.sort((a, b) => b.at - a.at).slice(0, MAX_REPORTED_ERRORS),
    failures: sumFailures([...reports.flatMap(({ failures }) => failures), ...lost.map(toFailure)]),
    errors_by_minute: reports
      .map(({ errors_by_minute }) => errors_by_minute)
      .reduce((sums, counts) => sums.map((count, at) => count + (counts[at] ?? 0)), new Array<number>(60).fill(0)),
    workers,
    silent_workers: silent.sort((a, b) => a.worker - b.worker),
    restarts,
    sessions: sortSessions(sessions, query).slice(query.offset, query.offset + query.limit),
    found_sessions: sum(({ found }) => found),
    limits: context.limits,
  };
}

function sumErrors(reports: readonly WorkerReport[]): ServerView["errors"] {
  const sums: Partial<Record<ErrorData["code"], number>> = {};
  for (const { errors } of reports) {
    for (const [code, counts] of Object.entries(errors) as [ErrorData["code"], Record<string, number>][]) {
      for (const count of Object.values(counts)) sums[code] = (sums[code] ?? 0) + count;
    }
  }
  return sums;
}

function toFailure(error: ServerViewError): ServerViewFailure {
  const { fault: _, ...failure } = error;
  return { ...failure, message: patternOf(error.message), count: 1, example: error.message };
}

/** The failures of all workers, with those of several workers as one; the latest is its example. */
function sumFailures(failures: readonly ServerViewFailure[]): ServerViewFailure[] {
  const sums = new Map<string, ServerViewFailure>();
  for (const failure of failures.toSorted((a, b) => a.at - b.at)) {
    const key = `${failure.code} ${failure.message}`;
    sums.set(key, { ...failure, count: failure.count + (sums.get(key)?.count ?? 0) });
  }
  return [...sums.values()].sort((a, b) => b.count - a.count || b.at - a.at).slice(0, MAX_REPORTED_ERRORS);
}
