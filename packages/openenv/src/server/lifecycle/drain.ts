import { setTimeout as sleep } from "node:timers/promises";
import type { ServerContext } from "../context.js";

/** The time for a balancer to notice that the server drains: until then new connections are still accepted. */
const NOTICE_MS = 5_000;
export const DRAIN_POLL_MS = 10;
/** The interval at which servers that take sessions over are looked for. */
const LOOK_MS = 1_000;
/** A client that closes a session may open the next one at once, while the balancer still sends it here. */
const QUIET_MS = 1_000;

/** Returns a function to poll: true once the server has been idle for a second, or for half of the limit if shorter. */
export function quietFor(limitMs: number): (isInUse: boolean) => boolean {
  const quietMs = Math.min(QUIET_MS, limitMs / 2);
  let since = performance.now();
  return (isInUse) => {
    if (isInUse) since = performance.now();
    return performance.now() - since >= quietMs;
  };
}

/**
 * Reports that the server accepts no more sessions and waits until its sessions have finished, the time is up or the
 * server is closed. Resolves with the remaining milliseconds.
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
  sessions.departure.stop();
  runtime.log.info({ sessions: sessions.inUse, seconds: limitMs / 1000 }, "draining");
  const isQuiet = quietFor(limitMs);
  // Servers of another version may start meanwhile, or end.
  void sessions.keeper?.findTakers(true);
  const looking = setInterval(() => void sessions.keeper?.findTakers(true), LOOK_MS);
  while (!isQuiet(!isDone()) && !context.closing && left() > 0) {
    if (left() < limitMs - notice) sessions.rejectsNew = true;
    await sleep(DRAIN_POLL_MS);
  }
  clearInterval(looking);
  if (left() === 0 && sessions.inUse > 0) {
    runtime.log.warn({ sessions: sessions.inUse }, "sessions did not finish within SHUTDOWN_DRAIN; closing them");
  }
  return left();
}
