import type { Session } from "./session.js";

/** How long a client may take: an HTTP client with its first step, a socket with its first valid message. */
const FIRST_USE_MS = 10_000;
/** How long a session that `POST /reset` opened keeps its slot without a request, while another client needs one. */
const IDLE_MS = 300_000;

/**
 * Sessions that end when another client needs room: those that their clients have not used yet, oldest first, then those
 * that `POST /reset` opened and that have been idle for long.
 */
export class Unclaimed {
  readonly #sessions = new Set<Session>();
  /** Those of them that have a socket. */
  readonly #ofSockets = new Set<Session>();
  /** Opened by an HTTP reset and used since. */
  readonly #used = new Set<Session>();

  add(session: Session): void {
    session.touch();
    session.unclaimed = this;
    this.#sessions.add(session);
    if (session.attached) this.#ofSockets.add(session);
  }

  /** Its client has used it. */
  claim(session: Session): void {
    const isOfHttp = this.#sessions.has(session) && !session.attached;
    this.delete(session);
    if (isOfHttp) this.#used.add(session);
  }

  /** It has ended. */
  delete(session: Session): void {
    session.unclaimed = undefined;
    this.#sessions.delete(session);
    this.#ofSockets.delete(session);
    this.#used.delete(session);
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

  /**
   * The oldest that may end now: one kept after an HTTP reset at any time, one of a socket after a while of silence, one
   * of an HTTP client after a longer while, unless a socket, a page or a client of MCP holds it.
   */
  oldest(): Session | undefined {
    const now = performance.now();
    for (const session of this.#sessions) {
      if (!session.busy && (!session.attached || session.lastActivityAt <= now - FIRST_USE_MS)) return session;
    }
    for (const session of this.#used) {
      if (!session.busy && !isHeld(session) && session.lastActivityAt <= now - IDLE_MS) return session;
    }
    return undefined;
  }

  /** Why a session that {@link oldest} names makes room. */
  reasonFor(session: Session): string {
    if (this.#used.has(session)) return `was idle for ${IDLE_MS / 1000} s and made room for another client`;
    return session.attached ? "sent no valid message and made room" : "made room for another session";
  }

  /** How many HTTP sessions were not used for a while after their reset. */
  get left(): number {
    const since = performance.now() - FIRST_USE_MS;
    let count = 0;
    for (const { attached, lastActivityAt } of this.#sessions) if (!attached && lastActivityAt < since) count++;
    return count;
  }
}

function isHeld({ attached, peer, visit }: Session): boolean {
  return attached || peer?.connected === true || (visit?.watchers ?? 0) > 0;
}
