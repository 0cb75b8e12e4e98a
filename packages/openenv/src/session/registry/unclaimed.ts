import type { Session } from "../session.js";

/**
 * The time that a client may take to use a session for the first time: an HTTP client to name it, a socket to send a
 * valid message, an MCP client to send `initialized`.
 */
export const FIRST_USE_MS = 10_000;
/** The least time that an idle session of `POST /reset` keeps its slot when another client needs one. */
const HTTP_IDLE_MS = 300_000;

export interface UnclaimedOptions {
  /** The time that a resumable session keeps its slot without a connection. */
  guaranteeMs: number;
  /** The time without a request that a session may have whose client keeps its connection; undefined for no limit. */
  idleMs: number | undefined;
  /** All open sessions. */
  live: Iterable<Session>;
  isWatched(session: Session): boolean;
  /** Its client can come back to it: it is detached, and does not end at once. */
  isResumable(session: Session): boolean;
}

/**
 * Sessions that end when another client needs a slot: first those that their clients have not used yet, oldest first,
 * then sessions of `POST /reset` that have been idle for a long time, then those that were not resumed, at last those
 * that are idle although their clients keep their connections.
 */
export class Unclaimed {
  readonly #options: UnclaimedOptions;
  readonly #httpIdleMs: number;
  /** Unused sessions with their start times, which invalid messages do not change. */
  readonly #sessions = new Map<Session, number>();
  /** Unused sessions with a socket. */
  readonly #ofSockets = new Map<Session, number>();
  /** Used sessions of `POST /reset`, least recently used first. */
  readonly #used = new Set<Session>();

  /** Resumable ones whose connection was lost; the one that was lost first comes first. */
  readonly #detached = new Map<Session, number>();
  /** Those of pages that were left: a page that is loaded again comes back within seconds. */
  readonly #ofPages = new Map<Session, number>();

  constructor(options: UnclaimedOptions) {
    this.#options = options;
    this.#httpIdleMs = Math.max(options.guaranteeMs, HTTP_IDLE_MS);
  }

  add(session: Session): void {
    session.touch();
    session.listIn(this);
    this.#sessions.set(session, session.lastActivityAt);
    if (session.attached) this.#ofSockets.set(session, session.lastActivityAt);
  }

  /** A resumable session has lost its connection. */
  addDetached(session: Session, isPage: boolean): void {
    session.touch();
    this.delete(session);
    session.listIn(this);
    (isPage ? this.#ofPages : this.#detached).set(session, performance.now());
  }

  /** Called when a client uses its session. Sessions of `POST /reset` move to the end of the list. */
  claim(session: Session): void {
    // A session is in one list at a time. Most calls are of sessions that were used before.
    if (this.#used.delete(session)) {
      this.#used.add(session);
      return;
    }
    // A call that was queued before the connection was lost does not bring the client back.
    if ((this.#detached.has(session) || this.#ofPages.has(session)) && !session.attached) return;
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
    this.#ofPages.delete(session);
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
      if (session.lastActivityAt > now - this.#httpIdleMs) break;
      if (!session.busy && !this.#isHeld(session)) count++;
    }
    for (const _overdue of this.#overdue(now)) count++;
    return count + this.#idle(now).length;
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
      if (!session.busy && !this.#isHeld(session) && session.lastActivityAt <= now - this.#httpIdleMs) return session;
    }
    for (const session of this.#overdue(now)) return session;
    const [first, ...others] = this.#idle(now);
    return others.reduce(
      (oldest, one) => (one.lastActivityAt < oldest.lastActivityAt ? one : oldest),
      first as Session,
    );
  }

  /** Why the session from {@link oldest} ends. */
  reasonFor(session: Session): string {
    if (this.#used.has(session))
      return `was idle for ${this.#httpIdleMs / 1000} s and was closed to make room for another client`;
    if (this.#detached.has(session) || this.#ofPages.has(session))
      return "was not resumed, and was closed to make room for another client";
    if (!this.#sessions.has(session)) return idleReason(this.#options.idleMs ?? 0);
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

  /** Sessions without a request for so long, which no other list has. */
  #idle(now: number): Session[] {
    const { idleMs, live, isWatched, isResumable } = this.#options;
    if (idleMs === undefined) return [];
    const isIdle = (session: Session): boolean =>
      session.isIdleSince(now - idleMs) && !session.isListed && !isWatched(session) && !isResumable(session);
    return [...live].filter(isIdle);
  }

  #isHeld(session: Session): boolean {
    return session.attached || session.peer?.connected === true || this.#options.isWatched(session);
  }

  /** Sessions whose clients have not come back in the guaranteed time; those of pages that were left first. */
  *#overdue(now: number): Iterable<Session> {
    const { guaranteeMs } = this.#options;
    const lists = [
      { sessions: this.#ofPages, limitMs: Math.min(FIRST_USE_MS, guaranteeMs) },
      { sessions: this.#detached, limitMs: guaranteeMs },
    ];
    for (const { sessions, limitMs } of lists) {
      for (const [session, since] of sessions) {
        if (since > now - limitMs) break;
        const { attached, busy, peer, lastActivityAt } = session;
        if (!attached && !busy && !peer?.connected && lastActivityAt <= now - limitMs) yield session;
      }
    }
  }
}

/** Why a session ends, or is detached, after `SESSION_IDLE_TIMEOUT`. */
export function idleReason(idleMs: number): string {
  return `was idle for ${idleMs / 1000} s and was closed to make room for another client`;
}
