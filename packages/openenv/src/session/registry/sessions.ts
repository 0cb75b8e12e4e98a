import { Registry } from "#parts/sockets/scheduling";
import type { ServerCapacityStatus, SessionInfo } from "../../protocol/http.js";
import { errorData } from "../../protocol/messages.js";
import type { ToolOutcome } from "../../protocol/tools.js";
import type { ServerViewSession } from "../../protocol/web.js";
import { settled } from "../../util/async/settled.js";
import { isThenable } from "../../util/async/thenable.js";
import { makeId } from "../../util/make-id.js";
import type { SessionOpener } from "../attachable-session.js";
import type { SessionCallOptions } from "../calls/call.js";
import { prepareCall, type ToolRequest } from "../calls/tool-call.js";
import type { DurableSession } from "../durable/durable-session.js";
import { DurableSessions, RESUME_DEFAULTS } from "../durable/durable-sessions.js";
import type { Runtime } from "../runtime.js";
import { Session } from "../session.js";
import { logEnd } from "../session-info.js";
import { SessionRejectedError } from "../session-rejected-error.js";
import { rejection, totalCapacity, type WorkerLoad } from "./capacity.js";
import { Departure } from "./departure.js";
import { fillSession } from "./fill-session.js";
import { NamedSessions } from "./named-sessions.js";
import type { SessionObserver, SessionStore, SessionsOptions } from "./options.js";
import { SessionQueue, type Waiter } from "./session-queue.js";
import { Unclaimed } from "./unclaimed.js";

/** Environments for a single request do not count for the capacity, as in the Python package, but have this limit. */
const SPARE_EPHEMERAL_SESSIONS = 64;

/** All sessions of one server. Every path frees a slot exactly once. */
export class Sessions {
  readonly named = new NamedSessions();
  readonly durable: DurableSessions;
  observer: SessionObserver | undefined;
  readonly departure = new Departure();
  /** Restores resumable sessions of other processes; set before the server listens. */
  journal: SessionStore | undefined;
  readonly #runtime: Runtime;
  readonly #options: SessionsOptions;
  readonly #live = new Registry<Session>();
  readonly #unclaimed: Unclaimed;
  readonly #queue: SessionQueue<Session>;
  /** Sessions whose environment is being created. */
  readonly #making = new Map<Waiter, Session>();
  /** Environments that are closing. */
  readonly #closing = new Set<Promise<void>>();
  /** Sessions of a single request each. */
  readonly #ephemeral = new Set<Session>();
  readonly #isWatched = (session: Session): boolean => this.observer?.isWatching(session) === true;
  #rejectsNew = false;
  #admitting = false;

  constructor(runtime: Runtime, options: SessionsOptions) {
    this.#runtime = runtime;
    this.#options = options;
    this.durable = new DurableSessions(options.resume ?? RESUME_DEFAULTS, (session, reason) =>
      this.end(session, reason),
    );
    this.#unclaimed = new Unclaimed({
      guaranteeMs: this.durable.limits.guaranteeMs,
      idleMs: options.sessionIdleMs,
      live: this.#live,
      isWatched: this.#isWatched,
      isResumable: (session) => session.isGroupResumable || this.durable.of(session) !== undefined,
    });
    this.#queue = new SessionQueue(options.queueSize ?? 0, options.queueTimeoutMs ?? 30_000);
  }

  /** Milliseconds that a session without a socket is kept while there is room. */
  get windowMs(): number {
    return this.#options.sessionTimeoutMs ?? Number.POSITIVE_INFINITY;
  }

  /** The load of this server alone. */
  load(): WorkerLoad {
    const { maxConcurrentEnvs: max, queueSize: places = 0 } = this.#options;
    return {
      active: this.#live.size + (this.journal?.reserved ?? 0),
      unclaimed: this.#unclaimed.evictable,
      max,
      waiting: this.#queue.size,
      queueSize: places,
    };
  }

  /** Number of sessions in use and of waiting peers, without sessions that were abandoned after an HTTP reset. */
  get inUse(): number {
    return this.#live.size - this.#unclaimed.left + this.#queue.size - this.durable.movable;
  }

  /** True when no more sessions are opened. */
  get rejectsNew(): boolean {
    return this.#rejectsNew;
  }

  rejectNew(): void {
    this.#rejectsNew = true;
  }

  /** True while {@link pause} stops new sessions. Waiting peers keep their position in the queue. */
  get paused(): boolean {
    return this.departure.paused;
  }

  pause(paused: boolean): void {
    this.departure.pause(paused);
    this.#admit();
  }

  /** Says which server of a cluster has what the id names. */
  makeId(): string {
    return makeId(this.#runtime.idPrefix);
  }

  /** An open session, also one that requests cannot name. */
  byId(id: string): Session | undefined {
    return this.#live.find((session) => session.id === id);
  }

  /** The capacity of the whole cluster. */
  capacity(): ServerCapacityStatus {
    return totalCapacity(this.#loads());
  }

  /** True when all sessions and queues of the cluster are full. */
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

  /** All open sessions, with the details for operators. */
  views(): ServerViewSession[] {
    return [...this.#live].map((session) => session.view(this.#options.cluster?.number ?? 0));
  }

  /** Number of sessions with a call in flight, or with a call since the given time of `performance.now()`. */
  stepping(since: number): number {
    return [...this.#live].filter((session) => session.busy || session.lastActivityAt >= since).length;
  }

  /**
   * Takes a slot, then creates the environment. At capacity, `waiter` joins the queue, if there is one.
   * @throws SessionRejectedError (CAPACITY_REACHED, FACTORY_ERROR).
   */
  open(waiter?: Waiter, opener?: SessionOpener): Session | Promise<Session> {
    this.#checkNew();
    if (this.#makeRoom(opener?.isRestored === true ? 0 : undefined)) return this.#openNow(waiter, opener);
    const refusal = this.#atCapacity();
    const { statistics } = this.#runtime;
    if (waiter === undefined || this.#queue.isFull) {
      statistics.countRejection("full");
      throw refusal;
    }
    const since = performance.now();
    const admit = (): Session | Promise<Session> => {
      statistics.counts.openenv_session_wait_seconds.record(performance.now() - since);
      return this.#openNow(waiter, opener);
    };
    const turn = this.#queue.join(waiter, admit, refusal);
    turn.catch((error: unknown) => error === refusal && statistics.countRejection("queue_timeout"));
    this.#options.cluster?.changed();
    return turn;
  }

  /** Removes a waiting peer from the queue, or ends the session that is being created for it. */
  leave(waiter: Waiter): void {
    this.#queue.leave(waiter);
    const session = this.#making.get(waiter);
    if (session !== undefined) this.end(session, "disconnected");
  }

  #new(opener?: SessionOpener): Session {
    const session = new Session(this.#runtime, opener);
    session.onLost = (reason) => {
      this.named.remember(session, `has ended: ${reason}`);
      this.end(session, reason);
    };
    return session;
  }

  #openNow(waiter?: Waiter, opener?: SessionOpener): Session | Promise<Session> {
    const session = this.#new(opener);
    this.#live.add(session);
    this.#options.cluster?.changed();
    this.#runtime.statistics.counts.openenv_sessions_opened_total++;
    const made = this.#fill(session);
    if (waiter === undefined || !isThenable(made)) return made;
    this.#making.set(waiter, session);
    return made.finally(() => this.#making.delete(waiter));
  }

  /** Opens a session that requests name by its id, as {@link open} does. */
  async openNamed(opener?: SessionOpener): Promise<Session> {
    return this.#name(await this.open(undefined, opener));
  }

  /** Does the same as {@link openNamed}, but returns null at capacity. */
  async openIfRoom(): Promise<Session | null> {
    this.#checkNew();
    return this.#makeRoom() ? this.#name(await this.#openNow()) : null;
  }

  #name(session: Session): Session {
    this.named.add(session);
    return session;
  }

  /** Marks a session that its client has not used yet: until then it may be ended to make room. */
  markUnclaimed(session: Session): void {
    if (session.ended) return;
    this.#unclaimed.add(session);
    this.#options.cluster?.changed();
    // Peers may have joined the queue during the session's first reset. Admit them after that reset is answered.
    if (this.#queue.size > 0) setImmediate(() => this.#admit());
  }

  /**
   * Creates an environment for one request, outside the capacity; the caller ends it.
   * @throws SessionRejectedError (CAPACITY_REACHED, FACTORY_ERROR).
   */
  async openEphemeral(): Promise<Session> {
    if (this.paused) this.#checkNew();
    if (!this.#runtime.definition.supportsConcurrentSessions) return this.open();
    if (this.#ephemeral.size >= this.#options.maxConcurrentEnvs + SPARE_EPHEMERAL_SESSIONS) {
      this.#runtime.statistics.countRejection("full");
      throw this.#atCapacity();
    }
    const session = this.#new();
    this.#ephemeral.add(session);
    return this.#fill(session);
  }

  /**
   * Calls a tool in an environment for this call only; an invalid call creates none.
   * @throws SessionRejectedError (CAPACITY_REACHED, FACTORY_ERROR).
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

  /** Called when the socket of the session has closed. */
  detach(session: Session): void {
    session.touch();
    if (session.detach()) this.end(session, "closed by its client");
  }

  /** The connection of a resumable session is lost: the session is kept for its client, and ends when others need room. */
  detachResumable(durableSession: DurableSession): void {
    durableSession.holder = undefined;
    durableSession.detachedAt = performance.now();
    const { target } = durableSession;
    if (!(target instanceof Session)) target.detach();
    for (const session of durableSession.sessions) this.keepDetached(session);
  }

  /** Keeps a session without a connection for its client, until another client needs its slot. */
  keepDetached(session: Session): void {
    if (session.detach()) return this.end(session, "closed by its holder");
    session.detachedAt = performance.now();
    this.#unclaimed.addDetached(session);
    this.#options.cluster?.changed();
    if (this.#queue.size > 0) setImmediate(() => this.#admit());
  }

  /** The resumable session or group with this id. Requests can name each session by address by its id, too. */
  findDurable(id: string): DurableSession | undefined {
    return this.durable.find(id) ?? this.durable.of(this.named.get(id));
  }

  /** The session that a socket names. @throws Refusal (SESSION_ERROR) when it is not open, or belongs to another socket. */
  findUnattached(id: string): Session {
    if (this.findDurable(id) === undefined) return this.named.findUnattached(id);
    const message = `Session "${id}" is resumed with its token or by its address, not by its id alone.`;
    throw new SessionRejectedError(errorData("SESSION_ERROR", message, { fault: "client" }));
  }

  /** Ends a session for its client; an attached session ends when its socket closes. Returns true if it has ended. */
  release(session: Session, reason: string): boolean {
    const durableSession = this.durable.of(session);
    if (durableSession !== undefined) durableSession.isReleased = true;
    if (session.attached) session.endOnDetach();
    else this.end(session, reason);
    return session.ended;
  }

  /** Frees the slot immediately and ends the session. Idempotent. */
  end(session: Session, reason: string): void {
    const counted = this.#live.remove(session);
    this.named.delete(session);
    this.durable.ended(session, reason);
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
    logEnd(session, reason);
    this.#options.cluster?.changed();
    this.#admit();
  }

  /** Admits waiting peers while there is room. The flag prevents recursion when a factory fails synchronously. */
  #admit(): void {
    if (this.#admitting) return;
    this.#admitting = true;
    try {
      while (!this.paused && this.#queue.size > 0 && this.#makeRoom()) this.#queue.next();
    } finally {
      this.#admitting = false;
    }
  }

  /** Ends sessions without a socket that have timed out, except those with a call in flight or a connected peer. */
  endOverdue(now = performance.now()): void {
    const overdue = this.named.overdue(now, this.windowMs);
    for (const session of overdue) if (this.durable.of(session) === undefined) this.end(session, "timed out");
    // A server that drains does not wait longer than another client would.
    const { guaranteeMs } = this.durable.limits;
    const windowMs = this.#rejectsNew ? Math.min(guaranteeMs, this.windowMs) : this.windowMs;
    this.durable.endOverdue(now, windowMs);
    // Sockets without a valid message may by now be old enough to make room for waiting peers.
    if (this.#queue.size > 0) this.#admit();
  }

  /** Ends all sessions and waits for their environments to close, up to the limit. */
  async endAll(reason: string, limitMs: number): Promise<void> {
    this.#queue.clear(this.#atCapacity());
    this.journal?.releaseAll();
    for (const session of this.#live) this.end(session, reason);
    await settled(Promise.all(this.#closing), limitMs);
  }

  /** Creates its environment; ends it if that fails. @throws SessionRejectedError (FACTORY_ERROR), or rejects with it. */
  #fill(session: Session): Session | Promise<Session> {
    const failed = (): void => this.end(session, "its factory failed");
    return fillSession(session, { failed, killed: (reason) => this.#lose(session, reason) });
  }

  /** The environment is lost, but the journal can restore it: its client connects again. */
  #lose(session: Session, reason: string): void {
    const durableSession = this.durable.of(session);
    if (durableSession?.journal?.isRestorable === true) this.durable.giveUp(durableSession, reason);
    else this.end(session, reason);
  }

  /** Ends unused sessions if necessary, and if that is enough. Returns false when all slots but the `reserved` ones are in use. */
  #makeRoom(reserved = this.journal?.reserved ?? 0): boolean {
    const limit = this.#options.maxConcurrentEnvs - reserved;
    if (this.#live.size - this.#unclaimed.evictable >= limit) {
      this.durable.detachIdle(this.#options.sessionIdleMs, this.#isWatched);
      return false;
    }
    while (this.#live.size >= limit) {
      const oldest = this.#unclaimed.oldest();
      if (oldest === undefined) return false;
      this.named.remember(oldest, this.#unclaimed.reasonFor(oldest));
      this.end(oldest, this.#unclaimed.reasonFor(oldest));
    }
    return true;
  }

  #checkNew(): void {
    if (!this.#rejectsNew && !this.paused) return;
    this.#runtime.statistics.countRejection(this.#rejectsNew ? "draining" : "paused");
    throw rejection(this.capacity(), this.#rejectsNew ? "draining" : "paused");
  }

  #atCapacity(): SessionRejectedError {
    return rejection(this.capacity(), "full");
  }
}
