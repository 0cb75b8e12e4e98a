import type { Session } from "../session.js";

/**
 * How long a client may take with its first use of a session: an HTTP client to name it, a socket to send a valid message,
 * a client of MCP to say that it was let in.
 */
export const FIRST_USE_MS = 10_000;
/** How long a session that `POST /reset` opened keeps its slot without a request, while another client needs one. */
const IDLE_MS = 300_000;

/**
 * Sessions that end when another client needs room: those that their clients have not used yet, oldest first, then those
 * that `POST /reset` opened and that have been idle for long.
 */
export class Unclaimed {
  readonly #isWatched: (session: Session) => boolean;
  /** Since when: messages that are not valid change nothing. */
  readonly #sessions = new Map<Session, number>();
  /** Those of them that have a socket. */
  readonly #ofSockets = new Map<Session, number>();
  /** Opened by an HTTP reset and used since; the one whose latest request is oldest comes first. */
  readonly #used = new Set<Session>();

  constructor(isWatched: (session: Session) => boolean) {
    this.#isWatched = isWatched;
  }

  add(session: Session): void {
    session.touch();
    session.listIn(this);
    this.#sessions.set(session, session.lastActivityAt);
    if (session.attached) this.#ofSockets.set(session, session.lastActivityAt);
  }

  /** Its client uses it. One of HTTP stays in the list, as the last. */
  claim(session: Session): void {
    const isOfHttp = this.#used.has(session) || (this.#sessions.has(session) && !session.attached);
    this.delete(session);
    if (!isOfHttp) return;
    this.#used.add(session);
    session.listIn(this);
  }

  /** It has ended. */
  delete(session: Session): void {
    session.listIn(undefined);
    this.#sessions.delete(session);
    this.#ofSockets.delete(session);
    this.#used.delete(session);
  }

  /** How many may end now. Asked for with every change of the load: it looks only at those whose time has come. */
  get evictable(): number {
    const now = performance.now();
    let count = this.#sessions.size - this.#ofSockets.size;
    for (const since of this.#ofSockets.values()) {
      if (since > now - FIRST_USE_MS) break;
      count++;
    }
    for (const session of this.#used) {
      if (session.lastActivityAt > now - IDLE_MS) break;
      if (!session.busy && !this.#isHeld(session)) count++;
    }
    return count;
  }

  /**
   * The oldest that may end now: one kept after an HTTP reset at any time, one of a socket after a while, one of an HTTP
   * client after a longer while, unless a socket, a page or a client of MCP holds it.
   */
  oldest(): Session | undefined {
    const now = performance.now();
    for (const [session, since] of this.#sessions) {
      if (!session.busy && (!session.attached || since <= now - FIRST_USE_MS)) return session;
    }
    for (const session of this.#used) {
      if (!session.busy && !this.#isHeld(session) && session.lastActivityAt <= now - IDLE_MS) return session;
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
    const limit = performance.now() - FIRST_USE_MS;
    let count = 0;
    for (const [{ attached }, since] of this.#sessions) if (!attached && since < limit) count++;
    return count;
  }

  #isHeld(session: Session): boolean {
    return session.attached || session.peer?.connected === true || this.#isWatched(session);
  }
}
