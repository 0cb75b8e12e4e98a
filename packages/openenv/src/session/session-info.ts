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
  return {
    session: id,
    name: nameHash,
    member,
    episode: episodeId ?? undefined,
  };
}

/** What a client sees of its session. */
export function describeInfo(session: DescribedSession): SessionInfo {
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

/** What an operator sees; `busySince`: when the call in flight started. */
export function describeView(session: DescribedSession, worker: number, busySince: number | null): ServerViewSession {
  const now = performance.now();
  const { client, detachedAt, progress } = session;
  return {
    ...describeInfo(session),
    client,
    busy_s: busySince === null ? null : (now - busySince) / 1000,
    detached_s: detachedAt === undefined ? null : (now - detachedAt) / 1000,
    episodes: progress.episodes,
    steps: progress.earlierSteps + progress.stepCount,
    worker,
  };
}
