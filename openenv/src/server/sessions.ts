import type { ServerCapacityStatus, SessionInfo } from "../protocol/http.js";
import type { ErrorData } from "../protocol/messages.js";
import { Registry } from "../util/registry.js";
import { isThenable } from "../util/thenable.js";
import { describeError } from "./failure.js";
import type { Runtime } from "./runtime.js";
import { Session } from "./session.js";

/** A session could not be given; `data` is what the peer is told. */
export class Refusal extends Error {
  readonly data: ErrorData;

  constructor(data: ErrorData) {
    super(data.message);
    this.data = data;
  }
}

export interface SessionsOptions {
  maxConcurrentEnvs: number;
  /** Milliseconds without a request after which a session without a socket ends; null for never. */
  sessionTimeoutMs: number | null;
}

/** Environments made for a single request live beside the capacity, as in the reference, but not without bound. */
const SPARE_THROWAWAYS = 64;

/** All sessions of one server: capacity as one number, each slot freed exactly once, on every path. */
export class Sessions {
  readonly #runtime: Runtime;
  readonly #options: SessionsOptions;
  readonly #live = new Registry<Session>();
  /** The sessions that can be named from outside; a socket's own session is known to its socket alone. */
  readonly #byId = new Map<string, Session>();
  /** Kept after an HTTP reset, but never asked for again: the first to go when room is needed. Oldest first. */
  readonly #unclaimed = new Set<Session>();
  #throwaways = 0;

  constructor(runtime: Runtime, options: SessionsOptions) {
    this.#runtime = runtime;
    this.#options = options;
  }

  capacity(): ServerCapacityStatus {
    const max = this.#options.maxConcurrentEnvs;
    const active = this.#live.size;
    return { active_sessions: active, max_sessions: max, available_slots: max - active, is_at_capacity: active >= max };
  }

  list(): SessionInfo[] {
    return [...this.#live].map((session) => session.info());
  }

  /**
   * Takes a slot, then makes the environment.
   * @throws Refusal (CAPACITY_REACHED, FACTORY_ERROR).
   */
  open(): Session | Promise<Session> {
    this.#takeRoom();
    const session = new Session(this.#runtime);
    this.#live.add(session);
    this.#runtime.counters.sessions++;
    return this.#fill(session, (error) => {
      this.end(session, "factory failed");
      throw error;
    });
  }

  /** Lets requests name the session by its id. */
  publish(session: Session): void {
    if (session.slot < 0) return;
    session.named = true;
    this.#byId.set(session.id, session);
  }

  /** Like {@link open}, for a session that requests will name by its id. */
  async openNamed(): Promise<Session> {
    const session = await this.open();
    this.publish(session);
    return session;
  }

  /** A session kept after an HTTP reset; null when there is no room without ending one that is in use. */
  async openUnclaimed(): Promise<Session | null> {
    if (this.#live.size >= this.#options.maxConcurrentEnvs && this.#unclaimed.size === 0) return null;
    const session = await this.openNamed();
    this.#unclaimed.add(session);
    return session;
  }

  /**
   * An environment for one request, outside the capacity; the caller ends it.
   * @throws Refusal (CAPACITY_REACHED, FACTORY_ERROR).
   */
  async openThrowaway(): Promise<Session> {
    if (!this.#runtime.definition.supportsConcurrentSessions) return this.open();
    if (this.#throwaways >= this.#options.maxConcurrentEnvs + SPARE_THROWAWAYS) throw this.#atCapacity();
    this.#throwaways++;
    const session = new Session(this.#runtime);
    session.onEnded = () => this.#throwaways--;
    return this.#fill(session, (error) => {
      this.#throwaways--;
      throw error;
    });
  }

  /** The named session, which from now on counts as in use. */
  find(id: string): Session | undefined {
    const session = this.#byId.get(id);
    if (session === undefined) return undefined;
    this.#unclaimed.delete(session);
    session.lastActivityAt = Date.now();
    return session;
  }

  /** @throws Refusal (SESSION_ERROR) for an unknown session, one not ready, or one that has a socket. */
  attach(id: string): Session {
    const session = this.find(id);
    if (session === undefined) throw refuse(`No session "${id}" is open here; it may have timed out.`);
    if (session.attached) throw refuse(`Session "${id}" is attached to another socket.`);
    if (session.state !== "ready") throw refuse(`Session "${id}" is not ready.`);
    session.attached = true;
    return session;
  }

  detach(session: Session): void {
    session.attached = false;
    session.lastActivityAt = Date.now();
    if (session.closeOnDetach) this.end(session, "closed by its holder");
  }

  /** Frees the slot at once and ends the session. Safe to call twice. */
  end(session: Session, reason: string): void {
    const counted = this.#live.remove(session);
    if (session.named) {
      this.#byId.delete(session.id);
      this.#unclaimed.delete(session);
    }
    if (session.state === "closing" || session.state === "closed") return;
    void session.close(reason);
    session.onEnded?.(reason);
    if (counted) this.#logEnd(session, reason);
  }

  /** Ends sessions without a socket whose time is up. Work in flight and connected peers are never touched. */
  sweep(now = Date.now()): void {
    const limit = this.#options.sessionTimeoutMs;
    if (limit === null) return;
    for (const session of this.#byId.values()) {
      if (session.attached || session.busy || now - session.lastActivityAt < limit) continue;
      this.end(session, "timed out");
    }
  }

  async endAll(reason: string): Promise<void> {
    const ending = [...this.#live];
    for (const session of ending) this.end(session, reason);
    await Promise.all(ending.map((session) => session.close(reason)));
  }

  #fill(session: Session, failed: (error: Refusal) => never): Session | Promise<Session> {
    const refuseFactory = (error: unknown): never => {
      const { name } = this.#runtime.definition.contract;
      this.#runtime.log.error({ err: error }, `the factory of ${name} failed`);
      const message = `The factory of "${name}" failed: ${describeError(error, this.#runtime.mode)}`;
      return failed(new Refusal({ message, code: "FACTORY_ERROR", factory_name: name }));
    };
    try {
      const instance = this.#runtime.definition.create();
      if (isThenable(instance)) {
        return Promise.resolve(instance).then((made) => {
          session.adopt(made);
          return session;
        }, refuseFactory);
      }
      session.adopt(instance);
      return session;
    } catch (error) {
      return refuseFactory(error);
    }
  }

  #takeRoom(): void {
    if (this.#live.size < this.#options.maxConcurrentEnvs) return;
    const [oldest] = this.#unclaimed;
    if (oldest === undefined) throw this.#atCapacity();
    this.end(oldest, "made room for another session");
  }

  #atCapacity(): Refusal {
    const { active_sessions, max_sessions } = this.capacity();
    const message = `Server at capacity: ${active_sessions} of ${max_sessions} sessions are open. Try again later.`;
    return new Refusal({ message, code: "CAPACITY_REACHED", active_sessions, max_sessions });
  }

  #logEnd(session: Session, reason: string): void {
    const fields = { session: session.id, steps: session.stepCount, ms: Date.now() - session.createdAt, reason };
    this.#runtime.log.info(fields, "session ended");
  }
}

function refuse(message: string): Refusal {
  return new Refusal({ message, code: "SESSION_ERROR" });
}
