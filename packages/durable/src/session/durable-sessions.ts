import { CLOSE_CODES, type ErrorData, errorData } from "#core/protocol/messages.js";
import type { Batch } from "#core/session/batch.js";
import type { DurableHolder, ResumeLimits } from "#core/session/registry/session-keeper.js";
import type { Sessions } from "#core/session/registry/sessions.js";
import { idleReason } from "#core/session/registry/unclaimed.js";
import type { Session } from "#core/session/session.js";
import { ByteBudget } from "#parts/sockets/scheduling";
import { DurableSession, isTokenOf } from "./durable-session.js";
import { Ledger } from "./ledger.js";
import type { SessionStore } from "./session-store.js";
import { StoredAnswers } from "./stored-answers.js";

/** The part of this memory that one session may fill with answers that its client has not acknowledged. */
const SHARE = 1 / 32;
const MIN_SHARE = 64 * 1024;
/** What a batch holds while it stores no answers: unlike a session, it takes no slot. */
const GROUP_BYTES = 1024;
/** Why no session becomes resumable. */
export const ANSWERS_FULL = errorData(
  "CAPACITY_REACHED",
  "The memory for stored answers (RESUME_BYTES) is used up by other sessions. Try again later, or use a server with more.",
);
const TAKEN = errorData(
  "SESSION_ELSEWHERE",
  "Another connection with this number has resumed the session: connect again with a higher number.",
);
const NOT_RESUMED = "was not resumed in time";
const NO_MEMORY = "was not resumed, and its stored answers were removed to make room for another client";
/** Ids of ended sessions for which the reason is kept. */
const MAX_REASONS = 10_000;

/** The first frame of a resumable connection. */
export interface ResumeRequest {
  /** The hash of the token for a new session, the token itself for one that is resumed. */
  secret: string;
  /** The client's number of this connection, if it counts them. */
  attempt: number | undefined;
}

/** The resumable sessions of one server. */
export class DurableSessions {
  readonly limits: ResumeLimits;
  readonly sessions: Sessions;
  readonly #budget: ByteBudget;
  readonly #byKey = new Map<string, DurableSession>();
  readonly #ledgers = new Map<Session, Ledger>();
  /** Why sessions have ended, by their keys, for clients that come back afterwards. */
  readonly #ended = new Map<string, { reason: string; tokenHash: string }>();
  /** Other processes can restore a session in the middle of its episode; between two there is nothing to restore. */
  areTaken = true;
  /** The number of connections that have resumed something. */
  resumed = 0;
  /** Undefined without a journal. */
  store: SessionStore | undefined;

  constructor(sessions: Sessions, limits: ResumeLimits) {
    this.sessions = sessions;
    this.limits = limits;
    this.#budget = new ByteBudget(limits.bytes);
  }

  /** The session or batch with this key. */
  find(key: string): DurableSession | undefined {
    return this.#byKey.get(key);
  }

  has(key: string): boolean {
    return this.#byKey.has(key);
  }

  /** The session or batch with this id. Requests can name each session by address by its id, too. */
  findById(id: string): DurableSession | undefined {
    return this.find(id) ?? this.of(this.sessions.named.get(id));
  }

  /** Undefined for a session that is not resumable, or only with its batch. */
  of(session: Session | undefined): DurableSession | undefined {
    return session && this.#byKey.get(session.key);
  }

  /** Why the session of an address was lost; undefined when it was not. */
  reasonFor(key: string): string | undefined {
    return this.#ended.get(key)?.reason || undefined;
  }

  /** A connection takes over what has none. */
  attach(durableSession: DurableSession, holder: DurableHolder): void {
    durableSession.holder = holder;
    this.resumed++;
  }

  /** The connection is lost: the session is kept for its client, and ends when others need room. */
  detach(durableSession: DurableSession, isPage = false): void {
    durableSession.holder = undefined;
    durableSession.isPageLeft = isPage;
    durableSession.detachedAt = performance.now();
    const { target } = durableSession;
    if ("sessions" in target) target.detach();
    for (const session of durableSession.sessions) this.sessions.keepDetached(session, isPage);
  }

  /** Sessions that have no connection. */
  get detached(): number {
    let count = 0;
    for (const { holder, sessions } of this.#byKey.values()) if (holder === undefined) count += sessions.length;
    return count;
  }

  /** Sessions that another process can continue: a server that stops does not wait for them. */
  get movable(): number {
    let count = 0;
    for (const { isRestorable, sessions } of this.#byKey.values()) {
      if (!isRestorable) continue;
      count += this.areTaken ? sessions.length : sessions.filter(isBetweenEpisodes).length;
    }
    return count;
  }

  /** Makes a session or a batch resumable. */
  add(target: Session | Batch, tokenHash: string, holder: DurableHolder | undefined): DurableSession {
    const answers = "sessions" in target ? this.#newAnswers() : this.ledgerOf(target).answers;
    const durableSession = new DurableSession(target, tokenHash, answers);
    durableSession.holder = holder;
    this.#byKey.set(durableSession.key, durableSession);
    this.#ended.delete(durableSession.key);
    this.#budget.hold(ownBytes(target));
    return durableSession;
  }

  #newAnswers(): StoredAnswers {
    const { answers, bytes } = this.limits;
    return new StoredAnswers(this.#budget, answers, Math.max(bytes * SHARE, MIN_SHARE));
  }

  /**
   * Makes room for more stored answers if that is necessary and possible, by the end of sessions that had no connection
   * for the guaranteed time, the largest first. False when the memory for answers is used up: no session becomes resumable
   * then.
   */
  makeRoom(): boolean {
    if (!this.#budget.isFull) return true;
    const { bytes, guaranteeMs } = this.limits;
    const overdue = this.#overdue(performance.now(), guaranteeMs).sort((a, b) => b.answers.bytes - a.answers.bytes);
    const removed: DurableSession[] = [];
    let { used } = this.#budget;
    for (const one of overdue) {
      if (used < bytes) break;
      used -= one.answers.bytes;
      removed.push(one);
    }
    if (used < bytes) for (const one of removed) this.end(one, NO_MEMORY);
    return !this.#budget.isFull;
  }

  /**
   * Closes the connections none of whose sessions has had a request for so long: from now on these keep their slots for
   * the guaranteed time, and their clients may come back.
   */
  detachIdle(idleMs: number | undefined, isWatched: (session: Session) => boolean): void {
    if (idleMs === undefined) return;
    const time = performance.now() - idleMs;
    for (const { sessions, holder } of this.#byKey.values()) {
      const isIdle = sessions.every((session) => session.isIdleSince(time) && !isWatched(session));
      if (isIdle && sessions.length > 0) holder?.drop(CLOSE_CODES.overloaded, idleReason(idleMs));
    }
  }

  /** The session has ended; its key may by now be that of another instance. */
  ended(session: Session, reason: string): void {
    this.#ledgers.get(session)?.answers.clear();
    this.#ledgers.delete(session);
    if (this.of(session)?.target === session) this.delete(session.key, reason);
  }

  all(): Iterable<DurableSession> {
    return this.#byKey.values();
  }

  /** The ledger of a session, which it gets if it has none. */
  ledgerOf(session: Session): Ledger {
    const known = this.#ledgers.get(session);
    if (known !== undefined) return known;
    const ledger = new Ledger(session, this.#newAnswers());
    this.#ledgers.set(session, ledger);
    session.events.hooks = ledger;
    return ledger;
  }

  /** What the token opens, taken over from the connection before; or why it cannot be resumed, or not by this connection. */
  resume(key: string, { secret, attempt }: ResumeRequest, holder: DurableHolder): DurableSession | string | ErrorData {
    const durableSession = this.#byKey.get(key);
    if (durableSession === undefined) {
      const ended = this.#ended.get(key);
      return ended !== undefined && isTokenOf(ended, secret) ? ended.reason : "the server does not know the session";
    }
    if (!isTokenOf(durableSession, secret)) return "the token is not that of the session";
    if (!durableSession.policy.isNumbered) return "the session is resumed by its address";
    if (attempt !== undefined && attempt < durableSession.attempt) return "a later connection has resumed the session";
    // A proxy has sent one connection twice. Which of the two has a client is known only when that one comes again.
    if (attempt === durableSession.attempt) return TAKEN;
    durableSession.attempt = attempt ?? durableSession.attempt;
    const before = durableSession.holder;
    this.attach(durableSession, holder);
    before?.fence();
    return durableSession;
  }

  end({ target }: DurableSession, reason: string): void {
    if ("sessions" in target) target.end(reason);
    else this.sessions.end(target, reason);
  }

  /** Ends the instance of a session that continues elsewhere or in another instance. */
  giveUp(durableSession: DurableSession, reason: string): void {
    durableSession.release();
    this.end(durableSession, reason);
  }

  /** Ends those that were not resumed in time. */
  endOverdue(now: number, windowMs: number): void {
    for (const one of this.#overdue(now, windowMs)) this.end(one, NOT_RESUMED);
  }

  /** The session or the batch has ended. */
  delete(key: string, reason: string): void {
    const durableSession = this.#byKey.get(key);
    if (durableSession === undefined) return;
    this.#byKey.delete(key);
    const { answers, isReleased, journal, policy, target, tokenHash } = durableSession;
    const isFree = policy.isReopened && isReleased;
    journal?.end(isFree ? "" : reason);
    answers.clear();
    this.#budget.give(ownBytes(target));
    if (!isFree) this.#keepReason(key, { reason, tokenHash });
  }

  /** The session of an address was lost with another process; an empty reason: the address is free. */
  lose(key: string, reason: string): void {
    this.#keepReason(key, { reason, tokenHash: key });
  }

  #keepReason(key: string, ended: { reason: string; tokenHash: string }): void {
    this.#ended.set(key, ended);
    const [first] = this.#ended.keys();
    if (this.#ended.size > MAX_REASONS && first !== undefined) this.#ended.delete(first);
  }

  /**
   * Those whose connection was lost, or whose last call ended, this long ago. A call in flight has its time
   * limit more, and at least as long again: one that never ends must not hold its session for ever.
   */
  #overdue(now: number, windowMs: number): DurableSession[] {
    const stepMs = Math.max(windowMs, this.limits.stepTimeoutMs ?? 0);
    return [...this.#byKey.values()].filter(({ sessions, holder, detachedAt, isPageLeft }) => {
      // A batch without sessions has no slot, and nothing else would limit how many there are.
      const limitMs = sessions.length === 0 || isPageLeft ? Math.min(windowMs, this.limits.guaranteeMs) : windowMs;
      const goneMs = now - detachedAt;
      if (holder !== undefined || goneMs < limitMs) return false;
      return sessions.every(({ busy, peer, lastActivityAt }) =>
        busy ? goneMs >= windowMs + stepMs : !peer?.connected && now - lastActivityAt >= limitMs,
      );
    });
  }
}

function isBetweenEpisodes({ busy, progress: { done, episodeId } }: Session): boolean {
  return !busy && (done || episodeId === null);
}

function ownBytes(target: Session | Batch): number {
  return "sessions" in target ? GROUP_BYTES : 0;
}
