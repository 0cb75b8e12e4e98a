import type { Session } from "./session.js";

/** How long a client may take: an HTTP client with its first step, a socket with its first valid message. */
const FIRST_USE_MS = 10_000;

/** Sessions that their clients have not used yet: the first to end when another client needs room. Oldest first. */
export class Unclaimed {
  readonly #sessions = new Set<Session>();
  /** Those of them that have a socket. */
  readonly #ofSockets = new Set<Session>();

  add(session: Session): void {
    session.touch();
    session.unclaimed = this;
    this.#sessions.add(session);
    if (session.attached) this.#ofSockets.add(session);
  }

  /** Its client has used it, or it has ended. */
  delete(session: Session): void {
    session.unclaimed = undefined;
    this.#sessions.delete(session);
    this.#ofSockets.delete(session);
  }

  /** How many may end now. Asked for with every change of the load: it looks only at sockets that may. */
  get evictable(): number {
    const since = performance.now() - FIRST_USE_MS;
    let count = this.#sessions.size - this.#ofSockets.size;
    for (const { lastActivityAt } of this.#ofSockets) {
      if (lastActivityAt > since) break;
      count++;
    }
    return count;
  }

  /** The oldest that may end now: one kept after an HTTP reset at any time, one of a socket after a while of silence. */
  oldest(): Session | undefined {
    const since = performance.now() - FIRST_USE_MS;
    for (const session of this.#sessions) {
      if (!session.busy && (!session.attached || session.lastActivityAt <= since)) return session;
    }
    return undefined;
  }

  /** How many HTTP sessions were not used for a while after their reset. */
  get left(): number {
    const since = performance.now() - FIRST_USE_MS;
    let count = 0;
    for (const { attached, lastActivityAt } of this.#sessions) if (!attached && lastActivityAt < since) count++;
    return count;
  }
}
