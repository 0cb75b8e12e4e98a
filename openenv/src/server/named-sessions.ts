import { Refusal } from "./refusal.js";
import type { Session } from "./session.js";

/** After that long without a step an HTTP session was opened for its reset alone. */
const FIRST_STEP_MS = 10_000;
/** A client of MCP says at once that it was let in; one that does not has gone. */
const FIRST_USE_MS = 30_000;

/** The sessions that can be named from outside; a socket's own session is known to its socket alone. */
export class NamedSessions {
  readonly #byId = new Map<string, Session>();
  /** Kept after an HTTP reset, but never asked for again: the first to go when room is needed. Oldest first. */
  readonly #unclaimed = new Set<Session>();

  /** Lets requests name the session by its id; one that has ended already is not named any more. */
  add(session: Session): void {
    if (session.slot < 0) return;
    session.named = true;
    this.#byId.set(session.id, session);
  }

  delete(session: Session): void {
    if (!session.named) return;
    this.#byId.delete(session.id);
    this.#unclaimed.delete(session);
  }

  /** From now on it counts as in use. */
  find(id: string): Session | undefined {
    const session = this.#byId.get(id);
    if (session === undefined) return undefined;
    this.#unclaimed.delete(session);
    session.touch();
    return session;
  }

  /** @throws Refusal (SESSION_ERROR) for an unknown session, one not ready, or one that has a socket. */
  attach(id: string): Session {
    const session = this.find(id);
    if (session === undefined) throw refuse(`No session "${id}" is open here; it may have timed out.`);
    if (session.attached) throw refuse(`Session "${id}" is attached to another socket.`);
    if (session.state !== "ready") throw refuse(`Session "${id}" is not ready.`);
    session.attached = true;
    return session;
  }

  /** Nobody has used this one yet, until somebody asks for it. */
  markUnclaimed(session: Session): void {
    this.#unclaimed.add(session);
  }

  /** The oldest that nobody has asked for. */
  oldestUnclaimed(): Session | undefined {
    return [...this.#unclaimed].find((session) => !session.busy);
  }

  /** How many nobody continued for a while after their reset. */
  get left(): number {
    const since = performance.now() - FIRST_STEP_MS;
    return [...this.#unclaimed].filter(({ lastActivityAt }) => lastActivityAt < since).length;
  }

  /** Those without a socket whose time is up. Work in flight and connected peers are never among them. */
  overdue(now: number, timeoutMs: number): Session[] {
    return [...this.#byId.values()].filter(({ attached, peer, busy, lastActivityAt }) => {
      const limit = peer?.silent ? Math.min(timeoutMs, FIRST_USE_MS) : timeoutMs;
      return !attached && !peer?.connected && !busy && now - lastActivityAt >= limit;
    });
  }
}

function refuse(message: string): Refusal {
  return new Refusal({ message, code: "SESSION_ERROR" });
}
