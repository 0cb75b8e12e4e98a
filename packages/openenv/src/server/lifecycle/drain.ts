import { setTimeout as sleep } from "node:timers/promises";
import type { ServerContext } from "../context.js";

/** What a balancer may take to notice that the server wants no more: newcomers that it still sends are let in. */
const NOTICE_MS = 5_000;
export const DRAIN_POLL_MS = 10;
/** Whoever closes a session may be about to open the next one, at a server that the balancer still takes for well. */
const QUIET_MS = 1_000;

/** Tells, asked again and again, whether nobody has been there for a second, at most half of the time there is. */
export function quietFor(limitMs: number): (isInUse: boolean) => boolean {
  const quietMs = Math.min(QUIET_MS, limitMs / 2);
  let since = performance.now();
  return (isInUse) => {
    if (isInUse) since = performance.now();
    return performance.now() - since >= quietMs;
  };
}

/**
 * Says that the server wants no more sessions, and lets those that it has finish. Resolves with the milliseconds that
 * are left when that is done, when the time is up, or when the server is closed meanwhile.
 */
export async function drainSessions(
  context: ServerContext,
  { limitMs, isDone }: { limitMs: number; isDone(): boolean },
): Promise<number> {
  const { sessions, runtime } = context;
  const deadline = performance.now() + limitMs;
  const left = (): number => Math.max(0, deadline - performance.now());
  const notice = Math.min(NOTICE_MS, limitMs / 2);
  context.draining = true;
  runtime.log.info({ sessions: sessions.inUse, seconds: limitMs / 1000 }, "draining");
  const isQuiet = quietFor(limitMs);
  while (!isQuiet(!isDone()) && !context.closing && left() > 0) {
    if (left() < limitMs - notice) sessions.rejectNew();
    await sleep(DRAIN_POLL_MS);
  }
  if (left() === 0 && sessions.inUse > 0) {
    runtime.log.warn({ sessions: sessions.inUse }, "sessions did not finish in SHUTDOWN_DRAIN and are ended");
  }
  return left();
}
