import { Refusal } from "./refusal.js";
import type { Session } from "./session.js";

/** A client of MCP says at once that it was let in; one that does not has gone. */
const FIRST_USE_MS = 30_000;

/** The sessions that can be named from outside; a socket's own session is known to its socket alone. */
export class NamedSessions {
  readonly #byId = new Map<string, Session>();

  /** Lets requests name the session by its id; one that has ended already is not named any more. */
  add(session: Session): void {
    if (session.slot < 0) return;
    session.named = true;
    this.#byId.set(session.id, session);
  }

  delete(session: Session): void {
    if (session.named) this.#byId.delete(session.id);
  }

  /** From now on it counts as in use. */
  find(id: string): Session | undefined {
    const session = this.#byId.get(id);
    if (session === undefined) return undefined;
    session.claim();
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
