import type { SessionInfo } from "../protocol/http.js";
import type { ServerViewSession } from "../protocol/web.js";
import type { AttachableSession } from "./attachable-session.js";
import type { Progress } from "./calls/session-event.js";
import type { Runtime } from "./runtime.js";

interface DescribedSession extends AttachableSession {
  readonly runtime: Runtime;
  readonly createdAt: number;
  /** Milliseconds on the clock of `performance.now()`. */
  readonly lastActivityAt: number;
  readonly progress: Progress;
  readonly task: ServerViewSession["task"] | undefined;
}

/** Logs where an episode begins or continues in a session; not in one for a single request, which has no place in a list. */
export function logStart(session: DescribedSession, how: "started" | "restored" | "copied"): void {
  if (session.index >= 0) session.runtime.log.info(logFields(session), `session ${how}`);
}

/** `episode` in the log is the last one of the session. */
export function logEnd(session: DescribedSession, reason: string): void {
  const { createdAt, progress, runtime } = session;
  const fields = { ...logFields(session), steps: progress.stepCount, ms: Date.now() - createdAt, reason };
  runtime.log.info(fields, "session ended");
}

/** The fields by which operators find a session: never its name, which gives access to it. */
function logFields({ id, nameHash, member, progress: { episodeId } }: DescribedSession): object {
  return { session: id, name: nameHash, member, episode: episodeId ?? undefined };
}

/** What a client sees of its session. */
function describeInfo(session: DescribedSession): SessionInfo {
  const { id, createdAt, lastActivityAt, progress, runtime, attached } = session;
  return {
    session_id: id,
    created_at: createdAt / 1000,
    last_activity_at: (performance.timeOrigin + lastActivityAt) / 1000,
    step_count: progress.stepCount,
    environment_type: runtime.definition.contract.name,
    episode_id: progress.episodeId,
    attached,
  };
}

export function listInfo(sessions: Iterable<DescribedSession>): SessionInfo[] {
  return [...sessions].map(describeInfo);
}

/** The duration from which a call is shown as slow. */
const SLOW_MS = 2000;
/** The time after its last call during which a session counts as stepping. */
const ACTIVE_MS = 1000;

/** What an operator sees; `busySince`: when the call in flight started. */
export function describeView(session: DescribedSession, worker: number, busySince: number | null): ServerViewSession {
  const now = performance.now();
  const { client, detachedAt, lastActivityAt, progress } = session;
  const isActive = busySince !== null || (detachedAt === undefined && now - lastActivityAt < ACTIVE_MS);
  const isSlow = busySince !== null && now - busySince >= SLOW_MS;
  return {
    ...describeInfo(session),
    client,
    state: isSlow ? "slow" : isActive ? "stepping" : detachedAt === undefined ? "idle" : "detached",
    busy_s: busySince === null ? null : (now - busySince) / 1000,
    detached_s: detachedAt === undefined ? null : (now - detachedAt) / 1000,
    episodes: progress.episodes,
    steps: progress.earlierSteps + progress.stepCount,
    reward: progress.reward,
    done: progress.done,
    failed_steps: progress.failedSteps,
    task: progress.episodeId === null ? null : (session.task ?? null),
    worker,
  };
}

/** The id gives access to a session, so the log contains only its start, like the page at /web. */
export function shortenSessionId(id: string): string {
  return /^(?:w\d+-)?.{0,8}/.exec(id)?.[0] ?? "";
}
