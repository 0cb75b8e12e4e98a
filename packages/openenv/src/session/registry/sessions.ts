import { Registry } from "#parts/sockets/scheduling";
import type { ServerCapacityStatus } from "../../protocol/http.js";
import { errorData } from "../../protocol/messages.js";
import { settled } from "../../util/async/settled.js";
import { isThenable } from "../../util/async/thenable.js";
import { makeId } from "../../util/make-id.js";
import { OVER_HTTP, type SessionOpener } from "../attachable-session.js";
import type { Runtime } from "../runtime.js";
import { Session } from "../session.js";
import { logEnd } from "../session-info.js";
import { SessionRejectedError } from "../session-rejected-error.js";
import { Admission } from "./admission.js";
import { rejection, totalCapacity, type WorkerLoad } from "./capacity.js";
import { Departure } from "./departure.js";
import { FactoryWaits } from "./factory-waits.js";
import { fillSession } from "./fill-session.js";
import { NamedSessions } from "./named-sessions.js";
import type { SessionsOptions } from "./options.js";
import { RESUME_DEFAULTS, type ResumeLimits, type SessionKeeper } from "./session-keeper.js";
import { SessionQueue, type Waiter } from "./session-queue.js";
import { Unclaimed } from "./unclaimed.js";

/** Environments for a single request do not count for the capacity, as in the Python package, but have this limit. */
const SPARE_EPHEMERAL_SESSIONS = 64;
const QUEUE_TIMEOUT_MS = 30_000;

/** Creates what keeps the sessions of a server, in the part `durable`. */
export type CreateKeeper = (sessions: Sessions, runtime: Runtime, limits: ResumeLimits) => SessionKeeper;

/** All sessions of one server. Every path frees a slot exactly once. */
export class Sessions {
  readonly named = new NamedSessions();
  /** Undefined on a server without the part `durable`: its sessions end with their connection. */
  readonly keeper: SessionKeeper | undefined;
  readonly departure = new Departure();
  /** True when no more sessions are opened. */
  rejectsNew = false;
  readonly #runtime: Runtime;
  readonly #options: SessionsOptions;
  readonly #guaranteeMs: number;
  readonly #live = new Registry<Session>();
  readonly #unclaimed: Unclaimed;
  readonly #queue: SessionQueue<Session>;
  /** Sessions whose environment is being created. */
  readonly #making = new Map<Waiter, Session>();
  readonly #factories = new FactoryWaits(() => this.#options.cluster?.changed());
  /** Environments that are closing. */
  readonly #closing = new Set<Promise<void>>();
  /** Sessions of a single request each. */
  readonly #ephemeral = new Set<Session>();
  readonly #admission: Admission;
  #admitting = false;

  constructor(runtime: Runtime, options: SessionsOptions, createKeeper?: CreateKeeper) {
    this.#runtime = runtime;
    this.#options = options;
    const { resume = RESUME_DEFAULTS } = options;
    this.#guaranteeMs = resume.guaranteeMs;
    this.keeper = createKeeper?.(this, runtime, resume);
    this.#unclaimed = new Unclaimed({
      guaranteeMs: this.#guaranteeMs,
      idleMs: options.sessionIdleMs,
      live: this.#live,
      isWatched,
      isResumable: (session) => session.isGroupResumable || this.#isKept(session),
    });
    this.#admission = new Admission(options.admit);
    this.#queue = new SessionQueue(options.queueSize ?? 0, options.queueTimeoutMs ?? QUEUE_TIMEOUT_MS);
    runtime.definition.capacity?.onChange(() => {
      options.cluster?.changed();
      this.#admit();
    });
  }

  get #max(): number {
    const { capacity } = this.#runtime.definition;
    return capacity ? Math.min(this.#options.maxConcurrentEnvs, capacity.max()) : this.#options.maxConcurrentEnvs;
  }

  /** Milliseconds that a session without a socket is kept while there is room. */
  get windowMs(): number {
    return this.#options.sessionTimeoutMs ?? Number.POSITIVE_INFINITY;
  }

  /** The load of this server alone. */
  load(): WorkerLoad {
    const { queueSize: places = 0 } = this.#options;
    return {
      active: this.#live.size + (this.keeper?.reserved ?? 0),
      unclaimed: this.#unclaimed.evictable,
      max: this.#max,
      waiting: this.#queue.size + this.#factories.waiting,
      queueSize: places,
    };
  }

  /** Number of sessions in use and of waiting peers, without sessions that were abandoned after an HTTP reset. */
  get inUse(): number {
    return this.#live.size - this.#unclaimed.left + this.#queue.size - (this.keeper?.movable ?? 0);
  }

  /** Stops new sessions, or admits them again. Waiting peers keep their position in the queue. */
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

  /** All open sessions. */
  get all(): Iterable<Session> {
    return this.#live;
  }

  /**
   * Takes a slot, then creates the environment. At capacity, `waiter` joins the queue, if there is one.
   * @throws SessionRejectedError (CAPACITY_REACHED, FACTORY_ERROR, or what a plugin refuses with).
   */
  open(waiter?: Waiter, opener?: SessionOpener): Session | Promise<Session> {
    return this.#admission.ask({ opener, waiter }, (admitted) => this.#take(waiter, admitted));
  }

  #take(waiter: Waiter | undefined, opener: SessionOpener | undefined): Session | Promise<Session> {
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
    this.#admission.leave(waiter);
    this.#queue.leave(waiter);
    const session = this.#making.get(waiter);
    if (session !== undefined) this.end(session, "disconnected");
  }

  #new(opener?: SessionOpener): Session {
    const session = new Session(this.#runtime, opener);
    session.events.plugins = this.#options.hooksFor?.(session, opener ?? OVER_HTTP);
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
    const session = await this.open(undefined, opener);
    this.named.add(session);
    return session;
  }

  /** Does the same as {@link openNamed}, but returns null at capacity. */
  async openIfRoom(opener?: SessionOpener): Promise<Session | null> {
    this.#checkNew();
    return this.#makeRoom() ? this.openNamed(opener) : null;
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
  async openEphemeral(opener?: SessionOpener): Promise<Session> {
    const { supportsConcurrentSessions, capacity } = this.#runtime.definition;
    if (!supportsConcurrentSessions || capacity !== undefined) return this.open(undefined, opener);
    return this.#admission.ask({ opener }, (admitted) => {
      if (this.departure.paused) this.#checkNew();
      if (this.#ephemeral.size >= this.#options.maxConcurrentEnvs + SPARE_EPHEMERAL_SESSIONS) {
        this.#runtime.statistics.countRejection("full");
        throw this.#atCapacity();
      }
      const session = this.#new(admitted);
      this.#ephemeral.add(session);
      return this.#fill(session);
    });
  }

  /** Called when the socket of the session has closed. */
  detach(session: Session): void {
    session.touch();
    if (session.detach()) this.end(session, "closed by its client");
  }

  /** Keeps a session without a connection for its client, until another client needs its slot. */
  keepDetached(session: Session, isPage = false): void {
    if (session.detach()) return this.end(session, "closed by its holder");
    session.detachedAt = performance.now();
    session.events.plugins?.detached?.();
    this.#unclaimed.addDetached(session, isPage);
    this.#options.cluster?.changed();
    if (this.#queue.size > 0) setImmediate(() => this.#admit());
  }

  /** The session that a socket names. @throws SessionRejectedError (SESSION_ERROR) when it is not open, or belongs to another socket. */
  findUnattached(id: string): Session {
    // Requests can name each session by address by its id, too.
    const named = this.named.get(id);
    const isKept = this.keeper?.has(id) === true || (named !== undefined && this.#isKept(named));
    if (!isKept) return this.named.findUnattached(id);
    const message = `Session "${id}" is resumed with its token or by its address, not by its id alone.`;
    throw new SessionRejectedError(errorData("SESSION_ERROR", message, { fault: "client" }));
  }

  /** Ends a session for its client; an attached session ends when its socket closes. Returns true if it has ended. */
  release(session: Session, reason: string): boolean {
    this.keeper?.release(session);
    if (session.attached) session.endOnDetach();
    else this.end(session, reason);
    return session.ended;
  }

  /** Frees the slot immediately and ends the session. Idempotent. */
  end(session: Session, reason: string): void {
    const counted = this.#live.remove(session);
    this.named.delete(session);
    this.keeper?.ended(session, reason);
    this.#unclaimed.delete(session);
    this.#ephemeral.delete(session);
    if (session.ended) return;
    session.factory?.abort(reason);
    const closed = session.close(reason);
    session.events.plugins?.ended?.(reason);
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
      while (!this.departure.paused && this.#queue.size > 0 && this.#makeRoom()) this.#queue.next();
    } finally {
      this.#admitting = false;
    }
  }

  /** Ends sessions without a socket that have timed out, except those with a call in flight or a connected peer. */
  endOverdue(now = performance.now()): void {
    const overdue = this.named.overdue(now, this.windowMs);
    for (const session of overdue) if (!this.#isKept(session)) this.end(session, "timed out");
    // A server that drains does not wait longer than another client would.
    const windowMs = this.rejectsNew ? Math.min(this.#guaranteeMs, this.windowMs) : this.windowMs;
    this.keeper?.endOverdue(now, windowMs);
    // Sockets without a valid message may by now be old enough to make room for waiting peers.
    if (this.#queue.size > 0) this.#admit();
  }

  /** Ends all sessions and waits for their environments to close, up to the limit. */
  async endAll(reason: string, limitMs: number): Promise<void> {
    this.#queue.clear(this.#atCapacity());
    this.keeper?.releaseAll();
    for (const session of this.#live) this.end(session, reason);
    await settled(Promise.all(this.#closing), limitMs);
  }

  /** Creates its environment; ends it if that fails. @throws SessionRejectedError (FACTORY_ERROR), or rejects with it. */
  #fill(session: Session): Session | Promise<Session> {
    const { queueTimeoutMs = QUEUE_TIMEOUT_MS } = this.#options;
    const call = this.#factories.begin(session, { refusal: () => this.#atCapacity(), timeoutMs: queueTimeoutMs });
    const failed = (): void => this.end(session, "its factory failed");
    return fillSession(session, { call, failed, lost: (reason) => this.#lose(session, reason) });
  }

  /** The environment is lost. If the keeper can restore it, its client connects again. */
  #lose(session: Session, reason: string): void {
    if (this.keeper?.moveAway(session, reason) !== true) this.end(session, reason);
  }

  /** Its client can come back to it. */
  #isKept({ key }: Session): boolean {
    return this.keeper?.has(key) === true;
  }

  /** Ends unused sessions if necessary, and if that is enough. Returns false when all slots but the `reserved` ones are in use. */
  #makeRoom(reserved = this.keeper?.reserved ?? 0): boolean {
    const limit = this.#max - reserved;
    if (this.#live.size - this.#unclaimed.evictable >= limit) {
      this.keeper?.detachIdle(this.#options.sessionIdleMs, isWatched);
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
    if (!this.rejectsNew && !this.departure.paused) return;
    this.#runtime.statistics.countRejection(this.rejectsNew ? "draining" : "paused");
    throw rejection(this.capacity(), this.rejectsNew ? "draining" : "paused");
  }

  #atCapacity(): SessionRejectedError {
    return rejection(this.capacity(), "full");
  }
}

/** A watched session does not end to make room. */
function isWatched({ observer }: Session): boolean {
  return observer?.isWatching === true;
}
