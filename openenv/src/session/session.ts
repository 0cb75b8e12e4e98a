import type { Environment } from "../environment/environment.js";
import type { SessionInfo } from "../protocol/http.js";
import type { ServerViewSession } from "../protocol/web.js";
import { settled } from "../util/async/settled.js";
import { isThenable } from "../util/async/thenable.js";
import type { Call } from "./calls/call.js";
import { CALL, type CallNumber, enterCall, leaveCall } from "./calls/call-marks.js";
import { toError } from "./failure.js";
import type { Runtime } from "./runtime.js";

export type SessionState = "created" | "ready" | "closing" | "closed";

/** How long a call may go on after it was given up before the next is made, or `close` called, all the same. */
export const ORPHAN_GRACE_MS = 5_000;

/** Something to be done with the session's environment. It never throws or rejects. */
export interface Task<T> {
  /** What the watchdog calls it. */
  readonly number: CallNumber;
  execute(): T | Promise<T>;
}

/** A client of real MCP that talks to a session. */
export interface SessionPeer {
  /** It holds a stream open, so the session is not reaped. */
  readonly connected: boolean;
  /** It has asked for a session of its own, and for nothing since. */
  readonly silent: boolean;
  /** The session has ended. */
  end(): void;
}

/** Where sessions are listed that their clients have not used. */
interface UnclaimedList {
  claim(session: Session): void;
}

interface Waiting {
  task: Task<unknown>;
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

/** Rejects what waited in the queue of a session that ended. */
class SessionClosedError extends Error {}

/**
 * One isolated instance of an environment and what happens to it: `created → ready → closing → closed`.
 * Calls run one at a time, in the order they came. It knows no transport.
 */
export class Session {
  readonly runtime: Runtime;
  readonly createdAt = Date.now();
  /** By the clock of `performance.now()`, which nobody sets. */
  lastActivityAt = performance.now();
  /** When the latest call began, by the same clock. */
  startedAt = this.lastActivityAt;
  state: SessionState = "created";
  stepCount = 0;
  /** Null until the first reset. */
  episodeId: string | null = null;
  episodes = 0;
  /** How its client came in. */
  client: ServerViewSession["client"] = "http";
  /** Requests can name it by its id. */
  named = false;
  /** A socket serves this session; it is not reaped. */
  attached = false;
  /** Where the session is listed while its client has not used it; it may end there to make room for another. */
  unclaimed: UnclaimedList | undefined;
  /** Where the registry of live sessions has it. */
  slot = -1;
  /** Opened with the orchestrator's token: an agent that knows the id may not end it. It gives no right to drive. */
  ofOrchestrator = false;
  /** Close when the socket detaches. */
  closeOnDetach = false;
  /** Talks to it over Streamable HTTP. */
  peer: SessionPeer | undefined;
  /** Ended by the server: tells the socket, if there is one. */
  onEnded: ((reason: string) => void) | undefined;
  #id: string | undefined;
  #tag: number | undefined;
  #instance: Environment | undefined;
  #earlierSteps = 0;
  #call: Call | undefined;
  #running: PromiseLike<unknown> | undefined;
  #rest: PromiseLike<unknown> | undefined;
  #waiting: Waiting[] | undefined;
  #closed: Promise<void> | undefined;

  constructor(runtime: Runtime) {
    this.runtime = runtime;
  }

  get id(): string {
    return (this.#id ??= this.runtime.idPrefix + crypto.randomUUID());
  }

  /** The first eight characters of the id, without its prefix, as a number: they name the session and open nothing. */
  get tag(): number {
    return (this.#tag ??= Number.parseInt(this.id.slice(this.runtime.idPrefix.length).slice(0, 8), 16) | 0);
  }

  /** A call is in flight that somebody waits for; one that was given up does not count. */
  get busy(): boolean {
    return this.#running !== undefined && this.#call !== undefined && this.#call.aborted === undefined;
  }

  /** The environment; only to be asked for from within {@link run}. */
  get instance(): Environment {
    if (this.#instance === undefined) throw new SessionClosedError("the session has no environment");
    return this.#instance;
  }

  /** Gives the session its environment. One that comes after the session has ended is closed at once. */
  adopt(instance: Environment): void {
    this.#instance = instance;
    if (this.state === "created") this.state = "ready";
    else void this.#closeInstance();
  }

  /**
   * Runs the task now when nothing else runs, else in its turn. What is sync stays sync.
   * @throws SessionClosedError, or rejects with it, when the session ends first.
   */
  run<T>(task: Task<T>): T | Promise<T> {
    if (this.state === "closing" || this.state === "closed") {
      throw new SessionClosedError("the session has ended");
    }
    if (this.#running !== undefined) {
      return new Promise<T>((resolve, reject) => {
        this.#waiting ??= [];
        this.#waiting.push({ task, resolve: resolve as Waiting["resolve"], reject });
      });
    }
    return this.#start(task);
  }

  /** Its client uses it: it is not ended to make room any more. */
  claim(): void {
    this.unclaimed?.claim(this);
  }

  /** Somebody uses it. */
  touch(): void {
    this.lastActivityAt = performance.now();
  }

  /** Names the call in flight, so that the end of the session can abort it. */
  begin(call: Call): Call {
    this.touch();
    this.startedAt = this.lastActivityAt;
    this.#call = call;
    return call;
  }

  beginEpisode(id: string): void {
    this.#earlierSteps += this.stepCount;
    this.stepCount = 0;
    this.episodes++;
    this.episodeId = id;
  }

  /** Has the next call wait for what one that was given up still does, but not for ever. */
  linger(rest: PromiseLike<unknown>): void {
    this.#rest = rest;
  }

  /** Ends the session: aborts the call in flight, rejects what waits, closes the environment once. */
  close(reason: string): Promise<void> {
    return (this.#closed ??= this.#close(reason));
  }

  info(): SessionInfo {
    return {
      session_id: this.id,
      created_at: this.createdAt / 1000,
      last_activity_at: (performance.timeOrigin + this.lastActivityAt) / 1000,
      step_count: this.stepCount,
      environment_type: this.runtime.definition.contract.name,
      episode_id: this.episodeId,
      attached: this.attached,
    };
  }

  /** As {@link info}, with what operators watch. */
  view(worker: number): ServerViewSession {
    const { client, episodes } = this;
    const busyFor = (performance.now() - this.startedAt) / 1000;
    const steps = this.#earlierSteps + this.stepCount;
    return { ...this.info(), client, busy_s: this.busy ? busyFor : null, episodes, steps, worker };
  }

  #start<T>(task: Task<T>): T | Promise<T> {
    enterCall(this.runtime.number, this.tag, task.number);
    let result: T | Promise<T>;
    try {
      result = task.execute();
    } finally {
      leaveCall();
    }
    if (!isThenable(result)) {
      this.#call = undefined;
      return result;
    }
    this.#running = result;
    const next = (): void => this.#next();
    result.then(next, next);
    return result;
  }

  /** What waits is started until one of them takes its time. */
  #next(): void {
    if (this.#rest !== undefined) {
      this.#call = undefined;
      this.#running = settled(this.#rest, ORPHAN_GRACE_MS).then(() => this.#next());
      this.#rest = undefined;
      return;
    }
    this.#running = undefined;
    this.#call = undefined;
    this.touch();
    while (this.#running === undefined) {
      const waiting = this.#waiting?.shift();
      if (waiting === undefined) return;
      try {
        waiting.resolve(this.#start(waiting.task));
      } catch (error) {
        waiting.reject(error);
      }
    }
  }

  #close(reason: string): Promise<void> {
    this.state = "closing";
    const running = this.#running;
    if (running === undefined) return this.#closeInstance();
    const ended = new SessionClosedError(`the session has ended: ${reason}`);
    for (const waiting of this.#waiting?.splice(0) ?? []) waiting.reject(ended);
    this.#call?.abort(ended);
    return settled(running, ORPHAN_GRACE_MS).then(() => this.#closeInstance());
  }

  async #closeInstance(): Promise<void> {
    try {
      enterCall(this.runtime.number, this.tag, CALL.close);
      const closed = this.#instance?.close?.();
      leaveCall();
      if (isThenable(closed)) await closed;
    } catch (error) {
      leaveCall();
      this.runtime.log.error({ err: toError(error), session: this.id }, "the environment failed in close");
    }
    this.state = "closed";
  }
}
