import type { Environment } from "../../environment/environment.js";
import type { ServerCapacityStatus, SessionInfo } from "../../protocol/http.js";
import type { ToolOutcome } from "../../protocol/tools.js";
import type { ServerViewSession } from "../../protocol/web.js";
import { settled } from "../../util/async/settled.js";
import { isThenable } from "../../util/async/thenable.js";
import type { SessionCallOptions } from "../calls/call.js";
import { CALL, markCall } from "../calls/call-marks.js";
import { prepareCall, type ToolRequest } from "../calls/tool-call.js";
import type { SessionOpener } from "../held-session.js";
import { IsolatedEnvironment } from "../isolation/isolated-environment.js";
import { makeEnvironment } from "../make-environment.js";
import type { Runtime } from "../runtime.js";
import { Session } from "../session.js";
import { SessionRejectedError } from "../session-rejected-error.js";
import { totalCapacity } from "./capacity.js";
import type { Cluster, WorkerLoad } from "./cluster.js";
import { NamedSessions } from "./named-sessions.js";
import { Registry } from "./registry.js";
import { SessionQueue, type Waiter } from "./session-queue.js";
import { Unclaimed } from "./unclaimed.js";

export interface SessionsOptions {
  maxConcurrentEnvs: number;
  /** Milliseconds without a request after which a session without a socket ends; null for never. */
  sessionTimeoutMs: number | null;
  /** How many peers may wait for a session when all are taken; default 0. */
  queueSize?: number;
  /** Milliseconds after which one that waits is refused. */
  queueTimeoutMs?: number;
  /** The other servers behind the same address, which count in what is told of the capacity. */
  cluster?: Cluster | undefined;
}

/** Has clients that watch sessions and play in none. */
export interface SessionObserver {
  /** A session that is watched does not end to make room. */
  isWatching(session: Session): boolean;
  /** The session has ended. */
  ended(session: Session, reason: string): void;
}

/** Environments made for a single request live beside the capacity, as in the reference, but not without bound. */
const SPARE_EPHEMERAL_SESSIONS = 64;

/** All sessions of one server: capacity as one number, each slot freed exactly once, on every path. */
export class Sessions {
  readonly named = new NamedSessions();
  observer: SessionObserver | undefined;
  readonly #runtime: Runtime;
  readonly #options: SessionsOptions;
  readonly #live = new Registry<Session>();
  readonly #unclaimed = new Unclaimed((session) => this.observer?.isWatching(session) === true);
  readonly #queue: SessionQueue<Session>;
  /** Sessions whose environment is still being made. */
  readonly #making = new Map<Waiter, Session>();
  /** Environments that take their time to close. */
  readonly #closing = new Set<Promise<void>>();
  /** Those of one request each. */
  readonly #ephemeral = new Set<Session>();
  #rejectsNew = false;
  #paused = false;
  #admitting = false;

  constructor(runtime: Runtime, options: SessionsOptions) {
    this.#runtime = runtime;
    this.#options = options;
    this.#queue = new SessionQueue(options.queueSize ?? 0, options.queueTimeoutMs ?? 30_000);
  }

  /** How full this server is, by itself. */
  load(): WorkerLoad {
    const { maxConcurrentEnvs: max, queueSize: places = 0 } = this.#options;
    return {
      active: this.#live.size,
      unclaimed: this.#unclaimed.evictable,
      max,
      waiting: this.#queue.size,
      queueSize: places,
    };
  }

  /** Sessions that are used or waited for; one that nobody continued for a while after an HTTP reset is not. */
  get inUse(): number {
    return this.#live.size - this.#unclaimed.left + this.#queue.size;
  }

  /** No session is opened any more. */
  get rejectsNew(): boolean {
    return this.#rejectsNew;
  }

  rejectNew(): void {
    this.#rejectsNew = true;
  }

  /** No session is opened until {@link pause} is called with false; open sessions continue. */
  get paused(): boolean {
    return this.#paused;
  }

  /** Those that wait in the queue keep their place. */
  pause(paused: boolean): void {
    this.#paused = paused;
    this.#admit();
  }

  /** Any session that is open, also one that requests cannot name. */
  byId(id: string): Session | undefined {
    return [...this.#live].find((session) => session.id === id);
  }

  /** Of the whole cluster. */
  capacity(): ServerCapacityStatus {
    return totalCapacity(this.#loads());
  }

  /** The whole cluster has neither room for a session nor a place in a queue. */
  get isFull(): boolean {
    const loads = this.#loads();
    return totalCapacity(loads).is_at_capacity && loads.every(({ waiting, queueSize }) => waiting >= queueSize);
  }

  #loads(): WorkerLoad[] {
    return this.#options.cluster?.loads() ?? [this.load()];
  }

  list(): SessionInfo[] {
    return [...this.#live].map((session) => session.info());
  }

  /** All of them, as an operator sees them. */
  views(): ServerViewSession[] {
    const number = this.#options.cluster?.number ?? 0;
    return [...this.#live].map((session) => session.view(number));
  }

  /** How many have a call in flight, or had one since then (by the clock of `performance.now()`). */
  stepping(since: number): number {
    return [...this.#live].filter((session) => session.busy || session.lastActivityAt >= since).length;
  }

  /**
   * Takes a slot, then makes the environment. When all are taken, an applicant waits where a queue is kept.
   * @throws Refusal (CAPACITY_REACHED, FACTORY_ERROR).
   */
  open(applicant?: Waiter, opener?: SessionOpener): Session | Promise<Session> {
    this.#checkNew();
    if (this.#makeRoom()) return this.#openNow(applicant, opener);
    const refusal = this.#atCapacity();
    const { statistics } = this.#runtime;
    if (applicant === undefined || this.#queue.isFull) {
      statistics.countRejection("full");
      throw refusal;
    }
    const since = performance.now();
    const admit = (): Session | Promise<Session> => {
      statistics.sessionWait.record(performance.now() - since);
      return this.#openNow(applicant, opener);
    };
    const turn = this.#queue.join(applicant, admit, refusal);
    turn.catch((error: unknown) => error === refusal && statistics.countRejection("queue_timeout"));
    this.#options.cluster?.changed();
    return turn;
  }

  /** The applicant waits no more, neither for its turn nor for its environment; nothing happens when it did not. */
  leave(applicant: Waiter): void {
    this.#queue.leave(applicant);
    const session = this.#making.get(applicant);
    if (session !== undefined) this.end(session, "disconnected");
  }

  #openNow(applicant?: Waiter, opener?: SessionOpener): Session | Promise<Session> {
    const session = new Session(this.#runtime, opener);
    this.#live.add(session);
    this.#options.cluster?.changed();
    this.#runtime.statistics.sessions++;
    const made = this.#fill(session);
    if (applicant === undefined || !isThenable(made)) return made;
    this.#making.set(applicant, session);
    return made.finally(() => this.#making.delete(applicant));
  }

  /** Like {@link open}, for a session that requests will name by its id. */
  async openNamed(opener?: SessionOpener): Promise<Session> {
    return this.#name(await this.open(undefined, opener));
  }

  /** Like {@link openNamed}; null when there is no room without ending one that is in use. */
  async openIfRoom(): Promise<Session | null> {
    this.#checkNew();
    return this.#makeRoom() ? this.#name(await this.#openNow()) : null;
  }

  #name(session: Session): Session {
    this.named.add(session);
    return session;
  }

  /** The session's client has not used it yet: until it does, the session may be ended to make room. */
  markUnclaimed(session: Session): void {
    if (session.ended) return;
    this.#unclaimed.add(session);
    this.#options.cluster?.changed();
    // For those that came during its first reset; in the turn after the one in which that is answered.
    if (this.#queue.size > 0) setImmediate(() => this.#admit());
  }

  /**
   * An environment for one request, outside the capacity; the caller ends it.
   * @throws Refusal (CAPACITY_REACHED, FACTORY_ERROR).
   */
  async openEphemeral(): Promise<Session> {
    if (this.#paused) this.#checkNew();
    if (!this.#runtime.definition.supportsConcurrentSessions) return this.open();
    if (this.#ephemeral.size >= this.#options.maxConcurrentEnvs + SPARE_EPHEMERAL_SESSIONS) {
      this.#runtime.statistics.countRejection("full");
      throw this.#atCapacity();
    }
    const session = new Session(this.#runtime);
    this.#ephemeral.add(session);
    return this.#fill(session);
  }

  /**
   * Calls a tool in an environment of this call alone; a call that cannot be made creates none.
   * @throws Refusal (CAPACITY_REACHED, FACTORY_ERROR).
   */
  async callTool(request: ToolRequest, options?: SessionCallOptions): Promise<ToolOutcome> {
    const prepared = prepareCall(this.#runtime.tools, request);
    if (!("tool" in prepared)) return prepared;
    const session = await this.openEphemeral();
    try {
      return await session.call(prepared, options);
    } finally {
      this.end(session, "its call was answered");
    }
  }

  /** The socket of the session has closed. */
  detach(session: Session): void {
    session.touch();
    if (session.detach()) this.end(session, "closed by its holder");
  }

  /** Ends the session when its client closes it; one with a socket ends when that closes. True when it has ended. */
  release(session: Session, reason: string): boolean {
    if (session.attached) session.endOnDetach();
    else this.end(session, reason);
    return session.ended;
  }

  /** Frees the slot at once and ends the session. Safe to call twice. */
  end(session: Session, reason: string): void {
    const counted = this.#live.remove(session);
    this.named.delete(session);
    this.#unclaimed.delete(session);
    this.#ephemeral.delete(session);
    if (session.ended) return;
    const closed = session.close(reason);
    this.observer?.ended(session, reason);
    if (session.state !== "closed") {
      this.#closing.add(closed);
      void closed.then(() => this.#closing.delete(closed));
    }
    if (!counted) return;
    this.#logEnd(session, reason);
    this.#options.cluster?.changed();
    this.#admit();
  }

  /** Gives those that wait their turn while there is room. One whose factory fails at once ends in here: no recursion. */
  #admit(): void {
    if (this.#admitting) return;
    this.#admitting = true;
    try {
      while (!this.#paused && this.#queue.size > 0 && this.#makeRoom()) this.#queue.next();
    } finally {
      this.#admitting = false;
    }
  }

  /** Ends sessions without a socket whose time is up. Work in flight and connected peers are never touched. */
  endOverdue(now = performance.now()): void {
    const overdue = this.named.overdue(now, this.#options.sessionTimeoutMs ?? Infinity);
    for (const session of overdue) this.end(session, "timed out");
    // Sockets that have become silent for long enough give way to those that wait.
    if (this.#queue.size > 0) this.#admit();
  }

  /** Ends all, and waits for environments that take their time to close, up to the limit. */
  async endAll(reason: string, limitMs: number): Promise<void> {
    this.#queue.clear(this.#atCapacity());
    for (const session of this.#live) this.end(session, reason);
    await settled(Promise.all(this.#closing), limitMs);
  }

  /** Gives the session its environment; one that gets none ends. @throws Refusal (FACTORY_ERROR). */
  #fill(session: Session): Session | Promise<Session> {
    const adopt = (instance: Environment): Session => {
      session.adopt(instance);
      if (instance instanceof IsolatedEnvironment) {
        // In the turn after the one in which the call in flight is answered.
        instance.onKilled = (error) => void setImmediate(() => this.end(session, error.message));
      }
      return session;
    };
    const fail = (error: unknown): never => {
      this.end(session, "its factory failed");
      throw error;
    };
    try {
      const of = { server: this.#runtime.number, session: session.tag };
      const made = markCall(of, CALL.create, () => makeEnvironment(this.#runtime));
      return isThenable(made) ? made.then(adopt, fail) : adopt(made);
    } catch (error) {
      return fail(error);
    }
  }

  /** False when every slot is taken by a session in use. */
  #makeRoom(): boolean {
    if (this.#live.size < this.#options.maxConcurrentEnvs) return true;
    const oldest = this.#unclaimed.oldest();
    if (oldest === undefined) return false;
    const reason = this.#unclaimed.reasonFor(oldest);
    this.named.remember(oldest, reason);
    this.end(oldest, reason);
    return this.#live.size < this.#options.maxConcurrentEnvs;
  }

  #checkNew(): void {
    if (!this.#rejectsNew && !this.#paused) return;
    this.#runtime.statistics.countRejection(this.#rejectsNew ? "draining" : "paused");
    const { active_sessions, max_sessions } = this.capacity();
    const reason = this.#rejectsNew ? "The server is shutting down and" : "An operator has paused the server, which";
    const message = `${reason} opens no more sessions. Open one at another server, or later.`;
    throw new SessionRejectedError({ message, code: "CAPACITY_REACHED", active_sessions, max_sessions });
  }

  #atCapacity(): SessionRejectedError {
    const { active_sessions, max_sessions } = this.capacity();
    const message = `Server at capacity: ${active_sessions} of ${max_sessions} sessions are open. Try again later.`;
    return new SessionRejectedError({ message, code: "CAPACITY_REACHED", active_sessions, max_sessions });
  }

  #logEnd(session: Session, reason: string): void {
    const fields = { session: session.id, steps: session.stepCount, ms: Date.now() - session.createdAt, reason };
    this.#runtime.log.info(fields, "session ended");
  }
}
