import { createHash, timingSafeEqual } from "node:crypto";
import { ByteBudget } from "#parts/sockets/scheduling";
import { CLOSE_CODES, type ErrorData, errorData } from "../../protocol/messages.js";
import { idleReason } from "../registry/unclaimed.js";
import type { Session } from "../session.js";
import { Ledger } from "./ledger.js";
import type { SessionJournal } from "./session-journal.js";
import { StoredAnswers } from "./stored-answers.js";

/** Limits of the resumable sessions of one server. */
export interface ResumeLimits {
  /** Milliseconds that a session without a connection keeps its slot while another client needs one. */
  guaranteeMs: number;
  /** Maximum number of answers that a client leaves unacknowledged. */
  answers: number;
  /** Bytes that the stored requests and answers of all sessions may hold; a character counts as one. */
  bytes: number;
  /** The time limit of a call, milliseconds, where there is one. */
  stepTimeoutMs?: number | undefined;
}

export const RESUME_DEFAULTS: ResumeLimits = { guaranteeMs: 60_000, answers: 64, bytes: 256 * 1024 * 1024 };
/** The part of this memory that one session may fill with answers that its client has not acknowledged. */
const SHARE = 1 / 32;
const MIN_SHARE = 64 * 1024;
/** What a group holds while it stores no answers: unlike a session, it takes no slot. */
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
/** Ids of ended sessions for which the reason is kept. */
const MAX_REASONS = 10_000;

/** The connection that a resumable session is attached to. */
export interface DurableHolder {
  /** Another connection has resumed the session: nothing that this one has read is executed any more. */
  fence(): void;
  /** The session continues in another process: closes the connection, and the client connects again. */
  moved(): void;
  /** True when its peer answers a ping within a second. */
  isAlive(): Promise<boolean>;
  /** Closes the connection, which detaches the session. */
  drop(code: number, reason: string): void;
}

/** The first frame of a resumable connection. */
export interface ResumeRequest {
  /** The hash of the token for a new session, the token itself for one that is resumed. */
  secret: string;
  /** The client's number of this connection, if it counts them. */
  attempt: number | undefined;
}

/** The sessions of one connection, which are resumed together. */
export interface SessionGroup {
  readonly id: string;
  readonly sessions: Iterable<Session>;
  /** Their connection is lost: a session that opens later waits like the others. */
  detach(): void;
  /** Ends all of them. */
  end(reason: string): void;
}

/** A session, or a group, that outlives its connection: its client proves the token on the next one. */
export interface DurableSession {
  readonly target: Session | SessionGroup;
  /** SHA-256 of the client's token, hexadecimal, or of the name in its address. */
  readonly tokenHash: string;
  /** The client names the session in its address: `/session/<name>`. */
  readonly isAddress: boolean;
  /** The client ends the session, or another process has it: here its address is free again, and nothing is lost. */
  isReleased?: boolean;
  readonly answers: StoredAnswers;
  /** What another process restores the session from, if the server has a journal. */
  journal: SessionJournal | undefined;
  /** Undefined while no connection is attached. */
  holder: DurableHolder | undefined;
  /** The highest number of a connection; -1 before one. A frame of an earlier one that arrives late takes nothing over. */
  attempt: number;
  /** When the last connection was lost, by the clock of `performance.now()`. */
  detachedAt: number;
}

/** The journal's key for a session. */
export function keyOf({ target, tokenHash, isAddress }: DurableSession): string {
  return isAddress ? tokenHash : target.id;
}

/** The resumable sessions of one server, by the id of the session. */
export class DurableSessions {
  readonly limits: ResumeLimits;
  readonly #budget: ByteBudget;
  readonly #byId = new Map<string, DurableSession>();
  readonly #byAddress = new Map<string, DurableSession>();
  /** The ledgers of sessions that have one, by the id of the session. */
  readonly #ledgers = new Map<string, Ledger>();
  /** Why a session has ended, for a client that wants to resume it afterwards. */
  readonly #ended = new Map<string, { reason: string; tokenHash: string }>();
  /** Other processes can restore a session in the middle of its episode; between two there is nothing to restore. */
  areTaken = true;
  /** The number of connections that have resumed something. */
  resumed = 0;

  constructor(limits: ResumeLimits) {
    this.limits = limits;
    this.#budget = new ByteBudget(limits.bytes);
  }

  /** True when the memory for stored answers is used up: no session becomes resumable then. */
  get isFull(): boolean {
    return this.#budget.isFull;
  }

  has(id: string): boolean {
    return this.#byId.has(id);
  }

  /** What the journal knows by this key. */
  find(key: string): DurableSession | undefined {
    return this.#byId.get(key) ?? this.#byAddress.get(key);
  }

  /** Leaves the session to another process, to which its client comes. */
  release(durableSession: DurableSession): void {
    durableSession.journal?.release(sessionsOf(durableSession.target).some(({ busy }) => busy));
    durableSession.isReleased = true;
    durableSession.holder?.moved();
  }

  /** The client ends the session: its address is free again. */
  free(id: string): void {
    const durableSession = this.#byId.get(id);
    if (durableSession !== undefined) durableSession.isReleased = true;
  }

  /** The session of an address. */
  at(address: string): DurableSession | undefined {
    return this.#byAddress.get(address);
  }

  /** Why the session of an address was lost; undefined when it was not. */
  reasonFor(address: string): string | undefined {
    return this.#ended.get(address)?.reason || undefined;
  }

  /** A connection takes over what has none. */
  attach(durableSession: DurableSession, holder: DurableHolder): void {
    durableSession.holder = holder;
    this.resumed++;
  }

  /** Sessions that have no connection. */
  get detached(): number {
    let count = 0;
    for (const { holder, target } of this.#byId.values()) if (holder === undefined) count += sessionsOf(target).length;
    return count;
  }

  /** Sessions that another process can continue: a server that stops does not wait for them. */
  get movable(): number {
    let count = 0;
    for (const { journal, target } of this.#byId.values()) {
      if (journal?.isRestorable !== true) continue;
      const sessions = sessionsOf(target);
      count += this.areTaken ? sessions.length : sessions.filter(isBetweenEpisodes).length;
    }
    return count;
  }

  /** Makes a session or a group resumable. */
  add(
    target: Session | SessionGroup,
    tokenHash: string,
    holder: DurableHolder | undefined,
    isAddress = false,
  ): DurableSession {
    const ledger = "sessions" in target ? undefined : this.ledgerOf(target, isAddress);
    const durableSession: DurableSession = {
      target,
      tokenHash,
      isAddress,
      answers: ledger?.answers ?? this.#newAnswers(),
      journal: undefined,
      holder,
      attempt: -1,
      detachedAt: performance.now(),
    };
    this.#byId.set(target.id, durableSession);
    this.#budget.hold(ownBytes(target));
    if (isAddress) {
      this.#byAddress.set(tokenHash, durableSession);
      this.#ended.delete(tokenHash);
    }
    return durableSession;
  }

  #newAnswers(): StoredAnswers {
    const { answers, bytes } = this.limits;
    return new StoredAnswers(this.#budget, answers, Math.max(bytes * SHARE, MIN_SHARE));
  }

  /**
   * Those whose end makes room for other answers, the largest first: they had no connection for the guaranteed time.
   * None if there is room, or if all of them would not be enough.
   */
  removable(now: number): DurableSession[] {
    const { bytes, guaranteeMs } = this.limits;
    let { used } = this.#budget;
    if (used < bytes) return [];
    const removed: DurableSession[] = [];
    for (const one of this.overdue(now, guaranteeMs).sort((a, b) => b.answers.bytes - a.answers.bytes)) {
      if (used < bytes) break;
      used -= one.answers.bytes;
      removed.push(one);
    }
    return used < bytes ? removed : [];
  }

  /**
   * Closes the connections none of whose sessions has had a request for so long: from now on these keep their slots for
   * the guaranteed time, and their clients may come back.
   */
  detachIdle(idleMs: number | undefined, isWatched: (session: Session) => boolean): void {
    if (idleMs === undefined) return;
    const time = performance.now() - idleMs;
    for (const { target, holder } of this.#byId.values()) {
      const sessions = sessionsOf(target);
      const isIdle = sessions.every((session) => session.isIdleSince(time) && !isWatched(session));
      if (isIdle && sessions.length > 0) holder?.drop(CLOSE_CODES.overloaded, idleReason(idleMs));
    }
  }

  /** The session has ended; its id may by now be that of another instance. */
  ended(session: Session, reason: string): void {
    const { target = session } = this.#byId.get(session.id) ?? {};
    if (target === session) this.delete(session.id, reason);
  }

  get(id: string): DurableSession | undefined {
    return this.#byId.get(id);
  }

  all(): Iterable<DurableSession> {
    return this.#byId.values();
  }

  /** The ledger of a session, which it gets if it has none. */
  ledgerOf(session: Session, isAddress = false): Ledger {
    const known = this.#ledgers.get(session.id);
    if (known !== undefined) return known;
    const ledger = new Ledger(session, this.#newAnswers(), isAddress);
    this.#ledgers.set(session.id, ledger);
    session.events.hooks = ledger;
    return ledger;
  }

  /** True when the session is resumable, and this is its token. */
  isToken(id: string, token: string): boolean {
    const durableSession = this.#byId.get(id);
    return durableSession !== undefined && isTokenOf(durableSession, token);
  }

  /** What the token opens, taken over from the connection before; or why it cannot be resumed, or not by this connection. */
  resume(id: string, { secret, attempt }: ResumeRequest, holder: DurableHolder): DurableSession | string | ErrorData {
    const durableSession = this.#byId.get(id);
    if (durableSession === undefined) {
      const ended = this.#ended.get(id);
      return ended !== undefined && isTokenOf(ended, secret) ? ended.reason : "the server does not know the session";
    }
    if (!isTokenOf(durableSession, secret)) return "the token is not that of the session";
    if (durableSession.isAddress) return "the session is resumed by its address";
    if (attempt !== undefined && attempt < durableSession.attempt) return "a later connection has resumed the session";
    // A proxy has sent one connection twice. Which of the two has a client is known only when that one comes again.
    if (attempt === durableSession.attempt) return TAKEN;
    durableSession.attempt = attempt ?? durableSession.attempt;
    const before = durableSession.holder;
    this.attach(durableSession, holder);
    before?.fence();
    return durableSession;
  }

  /** The session or the group has ended. */
  delete(id: string, reason: string): void {
    this.#ledgers.get(id)?.answers.clear();
    this.#ledgers.delete(id);
    const durableSession = this.#byId.get(id);
    if (durableSession === undefined) return;
    this.#byId.delete(id);
    const { isAddress, isReleased, tokenHash } = durableSession;
    durableSession.journal?.end(isAddress && isReleased ? "" : reason);
    durableSession.answers.clear();
    this.#budget.give(ownBytes(durableSession.target));
    if (isAddress) this.#byAddress.delete(tokenHash);
    if (!isAddress || !isReleased) this.#keepReason(isAddress ? tokenHash : id, { reason, tokenHash });
  }

  /** The session of an address was lost with another process; an empty reason: the address is free. */
  lose(address: string, reason: string): void {
    this.#keepReason(address, { reason, tokenHash: address });
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
  overdue(now: number, windowMs: number): DurableSession[] {
    const stepMs = Math.max(windowMs, this.limits.stepTimeoutMs ?? 0);
    return [...this.#byId.values()].filter(({ target, holder, detachedAt }) => {
      const sessions = sessionsOf(target);
      // A group without sessions has no slot, and nothing else would limit how many there are.
      const limitMs = sessions.length === 0 ? Math.min(windowMs, this.limits.guaranteeMs) : windowMs;
      const goneMs = now - detachedAt;
      if (holder !== undefined || goneMs < limitMs) return false;
      return sessions.every(({ busy, peer, lastActivityAt }) =>
        busy ? goneMs >= windowMs + stepMs : !peer?.connected && now - lastActivityAt >= windowMs,
      );
    });
  }
}

function isBetweenEpisodes({ busy, progress: { done, episodeId } }: Session): boolean {
  return !busy && (done || episodeId === null);
}

export function sessionsOf(target: Session | SessionGroup): Session[] {
  return "sessions" in target ? [...target.sessions].filter(({ ended }) => !ended) : [target];
}

function ownBytes(target: Session | SessionGroup): number {
  return "sessions" in target ? GROUP_BYTES : 0;
}

/** Compares in constant time. */
export function isTokenOf({ tokenHash }: Pick<DurableSession, "tokenHash">, token: string): boolean {
  const hash = createHash("sha256").update(token).digest();
  return timingSafeEqual(hash, Buffer.from(tokenHash, "hex"));
}
