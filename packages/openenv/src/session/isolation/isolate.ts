import type { Log } from "../../util/log.js";
import { SessionKilledError } from "../session-killed.js";
import type { IsolateChannel } from "./channel.js";
import { type FromIsolate, type IsolateContext, type IsolateMethod, type ToIsolate, unpackError } from "./messages.js";

/** Somebody whose environment lives in an isolate. */
export interface IsolateClient {
  readonly number: number;
  /** The environment is gone; what was being asked has been rejected with the same error. */
  killed(error: SessionKilledError): void;
}

export interface IsolateRequest {
  method: IsolateMethod;
  input?: unknown;
  context?: IsolateContext;
  signal?: AbortSignal | undefined;
  limitMs?: number | undefined;
}

export interface IsolateOptions {
  /** More than one client may live here: only an isolate whose loop is stuck is ended for the fault of one of them. */
  shared: boolean;
  log: Log;
}

interface Pending {
  client: IsolateClient | undefined;
  timer: NodeJS.Timeout | undefined;
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

/** How long an isolate may take to load the module, or to make one environment, milliseconds. */
export const START_LIMIT_MS = 60_000;
/** From the time limit of a call until its isolate is killed: the call sees its signal abort, the environment closes. */
const TIMEOUT_GRACE_MS = 1_000;
/** How long an isolate in doubt may take to show that its loop turns. */
const PING_LIMIT_MS = 1_000;
/** How long an isolate may take to end by itself. */
const END_LIMIT_MS = 3_000;

/** A thread or process with environments in it: requests in, answers out, until it is lost. */
export class Isolate {
  readonly clients = new Set<IsolateClient>();
  /** Places that are taken, also by clients on their way; the pool counts them. */
  assigned = 0;
  readonly startedAt = performance.now();
  /** Resolves with the name of the contract; rejects when the module does not load or has no environment. */
  readonly ready: Promise<string>;
  /** Why nothing can be asked any more. */
  lost: SessionKilledError | undefined;
  /** Something did not come back in time: nobody new moves in until it is known why. */
  suspect = false;
  /** Tells the pool, once. */
  onLost: () => void = () => {};
  /** Tells the pool that an isolate in doubt is well. */
  onCleared: () => void = () => {};
  readonly #channel: IsolateChannel;
  readonly #options: IsolateOptions;
  readonly #pending = new Map<number, Pending>();
  #lastId = 0;
  #ending = false;

  constructor(channel: IsolateChannel, options: IsolateOptions) {
    this.#channel = channel;
    this.#options = options;
    this.ready = new Promise((resolve, reject) => {
      const timer = afterReading(START_LIMIT_MS, () => {
        if (this.#pending.has(0)) this.#lose("did not start in time");
      });
      this.#pending.set(0, { client: undefined, timer, resolve: resolve as Pending["resolve"], reject });
    });
    this.ready.catch(() => {});
    channel.onMessage = (message) => this.#receive(message);
    channel.onEnd = (reason, error) => this.#lose(reason, { error });
  }

  get name(): string {
    return this.#channel.name;
  }

  /** Resolves when the thread or process is gone. */
  get gone(): Promise<void> {
    return this.#channel.gone;
  }

  /** @throws SessionKilledError, or what the environment threw. */
  request(client: IsolateClient | undefined, request: IsolateRequest): Promise<unknown> {
    if (this.lost !== undefined) return Promise.reject(this.lost);
    const { method, input, context, signal, limitMs } = request;
    const id = ++this.#lastId;
    return new Promise((resolve, reject) => {
      const timer =
        limitMs === undefined ? undefined : afterReading(limitMs, () => this.#timedOut(id, method, limitMs));
      this.#pending.set(id, { client, timer, resolve, reject });
      const message: ToIsolate = { type: "request", id, session: client?.number ?? 0, method, input };
      try {
        this.#channel.send(context === undefined ? message : { ...message, context });
      } catch (error) {
        // Something in it has no form outside of this thread.
        this.#take(id)?.reject(error);
      }
      const abort = (): void => {
        if (this.#pending.has(id)) this.#channel.send({ type: "abort", id, reason: reasonOf(signal) });
      };
      if (signal?.aborted) abort();
      else signal?.addEventListener("abort", abort, { once: true });
    });
  }

  /** Ends it, in its own way when it is empty: who still lives there by now is not coming back. */
  async end(): Promise<void> {
    this.#ending = true;
    if (this.clients.size > 0) this.kill("was ended");
    if (this.lost === undefined) {
      this.#channel.send({ type: "end" });
      const timer = setTimeout(() => this.#channel.kill(), END_LIMIT_MS);
      await this.gone;
      clearTimeout(timer);
    }
    await this.gone;
  }

  /** Ends it now. */
  kill(reason: string): void {
    this.#ending = true;
    this.#lose(reason);
  }

  #receive(message: FromIsolate): void {
    if (message.type === "ready") this.#take(0)?.resolve(message.contract);
    else if (message.type === "unusable") {
      this.#take(0)?.reject(unpackError(message.error));
      this.kill("could not be used");
    } else if (message.type === "answer") this.#take(message.id)?.resolve(message.value);
    else this.#take(message.id)?.reject(unpackError(message.error));
  }

  #timedOut(id: number, method: IsolateMethod, limitMs: number): void {
    const pending = this.#take(id);
    if (pending === undefined) return;
    const error = new SessionKilledError(
      "TIMEOUT",
      `the environment did not answer ${method} within ${limitMs / 1000} s`,
    );
    pending.reject(error);
    this.#channel.send({ type: "abort", id, reason: error.message });
    if (pending.client !== undefined) this.#evict(pending.client, error);
    if (this.#options.shared) void this.#check();
    else setTimeout(() => this.#lose(`did not answer ${method} in time`), TIMEOUT_GRACE_MS).unref();
  }

  /** Keeps an isolate whose event loop still runs; kills one that is stuck, with all its sessions. */
  async #check(): Promise<void> {
    if (this.suspect || this.lost !== undefined) return;
    this.suspect = true;
    let answered = false;
    const timer = afterReading(PING_LIMIT_MS, () => {
      if (!answered) this.#lose("is stuck");
    });
    try {
      await this.request(undefined, { method: "ping" });
      answered = true;
      this.suspect = false;
      this.onCleared();
    } catch {
      // Lost; everybody has been told.
    } finally {
      clearTimeout(timer);
    }
  }

  #evict(client: IsolateClient, error: SessionKilledError): void {
    this.clients.delete(client);
    for (const [id, pending] of this.#pending) if (pending.client === client) this.#take(id)?.reject(error);
    client.killed(error);
  }

  #lose(reason: string, { error }: { error?: unknown } = {}): void {
    if (this.lost !== undefined) return;
    const lost = new SessionKilledError("ISOLATE_LOST", `the ${this.name} of the environment ${reason}`);
    this.lost = lost;
    if (!this.#ending) {
      this.#options.log.error(
        { err: error, isolate: this.name, sessions: this.clients.size, reason },
        "an isolate was lost",
      );
    }
    for (const id of [...this.#pending.keys()]) this.#take(id)?.reject(lost);
    for (const client of [...this.clients]) this.#evict(client, lost);
    this.#channel.kill();
    this.onLost();
  }

  #take(id: number): Pending | undefined {
    const pending = this.#pending.get(id);
    this.#pending.delete(id);
    clearTimeout(pending?.timer);
    return pending;
  }
}

/**
 * Calls once the time is up and what came in by then was read: after a stall of this process timers run first, and an
 * answer that is there would lose. It may call after clearTimeout: whoever is called looks whether that is still wanted.
 */
function afterReading(ms: number, call: () => void): NodeJS.Timeout {
  return setTimeout(() => setImmediate(call), ms);
}

function reasonOf(signal: AbortSignal | undefined): string {
  const reason: unknown = signal?.reason;
  return reason instanceof Error ? reason.message : String(reason);
}
