import type { Session } from "../session.js";

/**
 * How long a client may take to use a session for the first time: an HTTP client to name it, a socket to send a valid
 * message, an MCP client to send `initialized`.
 */
export const FIRST_USE_MS = 10_000;
/** How long an idle session of `POST /reset` keeps its slot when another client needs one. */
const IDLE_MS = 300_000;

/**
 * Sessions that end when another client needs a slot: first those that their clients have not used yet, oldest first,
 * then sessions of `POST /reset` that have been idle for a long time.
 */
export class Unclaimed {
  readonly #isWatched: (session: Session) => boolean;
  readonly #guaranteeMs: number;
  /** Unused sessions with their start times, which invalid messages do not change. */
  readonly #sessions = new Map<Session, number>();
  /** Unused sessions with a socket. */
  readonly #ofSockets = new Map<Session, number>();
  /** Used sessions of `POST /reset`, least recently used first. */
  readonly #used = new Set<Session>();

  /** Resumable ones whose connection was lost; the one that was lost first comes first. */
  readonly #detached = new Map<Session, number>();

  /** `guaranteeMs`: how long a resumable session keeps its slot without a connection. */
  constructor(isWatched: (session: Session) => boolean, guaranteeMs: number) {
    this.#isWatched = isWatched;
    this.#guaranteeMs = guaranteeMs;
  }

  add(session: Session): void {
    session.touch();
    session.listIn(this);
    this.#sessions.set(session, session.lastActivityAt);
    if (session.attached) this.#ofSockets.set(session, session.lastActivityAt);
  }

  /** A resumable session has lost its connection. */
  addDetached(session: Session): void {
    session.touch();
    this.delete(session);
    session.listIn(this);
    this.#detached.set(session, performance.now());
  }

  /** Called when a client uses its session. Sessions of `POST /reset` move to the end of the list. */
  claim(session: Session): void {
    // In one list at a time: most calls are of sessions that were used before.
    if (this.#used.delete(session)) {
      this.#used.add(session);
      return;
    }
    // A call that was queued before the connection was lost does not bring the client back.
    if (this.#detached.has(session) && !session.attached) return;
    const isOfHttp = this.#sessions.has(session) && !session.attached;
    this.delete(session);
    if (!isOfHttp) return;
    this.#used.add(session);
    session.listIn(this);
  }

  /** Removes a session that has ended. */
  delete(session: Session): void {
    session.listIn(undefined);
    this.#sessions.delete(session);
    this.#ofSockets.delete(session);
    this.#used.delete(session);
    this.#detached.delete(session);
  }

  /**
   * Number of sessions that may end now. Called on every change of the load, so it stops at the first recent session.
   */
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
    for (const [session, since] of this.#detached) {
      if (since > now - this.#guaranteeMs) break;
      if (this.#isOverdue(session, now)) count++;
    }
    return count;
  }

  /**
   * The oldest session that may end now: an unused HTTP session at any time, an unused socket after {@link
   * FIRST_USE_MS}, a used HTTP session after a longer time, unless a socket, a page or an MCP client holds it.
   */
  oldest(): Session | undefined {
    const now = performance.now();
    for (const [session, since] of this.#sessions) {
      if (!session.busy && (!session.attached || since <= now - FIRST_USE_MS)) return session;
    }
    for (const session of this.#used) {
      if (!session.busy && !this.#isHeld(session) && session.lastActivityAt <= now - IDLE_MS) return session;
    }
    for (const [session, since] of this.#detached) {
      if (since > now - this.#guaranteeMs) break;
      if (this.#isOverdue(session, now)) return session;
    }
    return undefined;
  }

  /** Why the session from {@link oldest} ends. */
  reasonFor(session: Session): string {
    if (this.#used.has(session))
      return `was idle for ${IDLE_MS / 1000} s and was closed to make room for another client`;
    if (this.#detached.has(session)) return "was not resumed, and was closed to make room for another client";
    return session.attached
      ? "sent no valid message and was closed to make room"
      : "was closed to make room for another session";
  }

  /** Number of HTTP sessions that were not used for {@link FIRST_USE_MS} after their reset. */
  get left(): number {
    const limit = performance.now() - FIRST_USE_MS;
    let count = 0;
    for (const [{ attached }, since] of this.#sessions) {
      if (since >= limit) break;
      if (!attached) count++;
    }
    return count;
  }

  #isHeld(session: Session): boolean {
    return session.attached || session.peer?.connected === true || this.#isWatched(session);
  }

  #isOverdue({ attached, busy, peer, lastActivityAt }: Session, now: number): boolean {
    return !attached && !busy && !peer?.connected && lastActivityAt <= now - this.#guaranteeMs;
  }
}
