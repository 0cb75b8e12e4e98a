import type { Call } from "#core/session/calls/call.js";
import { unpackError } from "#core/session/packed-error.js";
import { SessionKilledError } from "#core/session/session-killed.js";
import type { Log } from "#core/util/log.js";
import { afterReading } from "#parts/sockets/scheduling";
import type { IsolateChannel } from "./channel.js";
import type { FromIsolate, IsolateContext, IsolateMethod, IsolateRequestMessage } from "./messages.js";

/** A session whose environment runs in an isolate. */
export interface IsolateClient {
  readonly number: number;
  /** Called when the environment is lost; pending requests have been rejected with the same error. */
  killed(error: SessionKilledError): void;
}

export interface IsolateRequest {
  method: IsolateMethod;
  input?: unknown;
  context?: IsolateContext;
  signal?: AbortSignal | undefined;
  /** The call of an event: the isolate continues its effects. */
  call?: Call | undefined;
  limitMs?: number | undefined;
}

export interface IsolateOptions {
  /** Several clients share the isolate, so a timeout of one ends the isolate only if its event loop is blocked. */
  shared: boolean;
  log: Log;
}

interface Pending {
  client: IsolateClient | undefined;
  call?: Call | undefined;
  timer: NodeJS.Timeout | undefined;
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

/** Time limit for loading the module, and for creating one environment, in milliseconds. */
export const START_LIMIT_MS = 60_000;
/**
 * Time between a call's time limit and the kill of its isolate, in which the call is aborted and the environment
 * closed.
 */
const TIMEOUT_GRACE_MS = 1_000;
/** Time limit for a suspect isolate to answer a ping. */
const PING_LIMIT_MS = 1_000;
/** Time limit for an orderly exit. */
const END_LIMIT_MS = 3_000;

/** A thread or process that runs environments. Sends requests to it and receives answers. */
export class Isolate {
  readonly clients = new Set<IsolateClient>();
  /** Number of assigned clients, including those being created; counted by the pool. */
  assigned = 0;
  readonly startedAt = performance.now();
  /** Resolves with the name of the contract; rejects when the module does not load or has no environment. */
  readonly ready: Promise<string>;
  /** Set when the isolate is lost: the reason. */
  lost: SessionKilledError | undefined;
  /** A call timed out. The isolate gets no new clients until it answers a ping. */
  suspect = false;
  /** Notifies the pool of the loss, once. */
  onLost: () => void = () => {};
  /** Notifies the pool that a suspect isolate has answered. */
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

  /** Resolves when the thread or process has ended. */
  get gone(): Promise<void> {
    return this.#channel.gone;
  }

  /** Rejects with SessionKilledError or with the error of the environment. */
  request(client: IsolateClient | undefined, request: IsolateRequest): Promise<unknown> {
    if (this.lost !== undefined) return Promise.reject(this.lost);
    const { method, input, context, signal, call, limitMs } = request;
    const id = ++this.#lastId;
    return new Promise((resolve, reject) => {
      const timer =
        limitMs === undefined ? undefined : afterReading(limitMs, () => this.#timedOut(id, method, limitMs));
      this.#pending.set(id, { client, call, timer, resolve, reject });
      const message: IsolateRequestMessage = { type: "request", id, session: client?.number ?? 0, method, input };
      if (context !== undefined) message.context = context;
      if (call !== undefined) message.effects = call.effects.state;
      try {
        this.#channel.send(message);
      } catch (error) {
        // The message contains a value that cannot be cloned.
        this.#take(id)?.reject(error);
      }
      const abort = (): void => {
        if (this.#pending.has(id)) this.#channel.send({ type: "abort", id, reason: reasonOf(signal) });
      };
      if (signal?.aborted) abort();
      else signal?.addEventListener("abort", abort, { once: true });
    });
  }

  /** Ends the isolate: in an orderly way without clients, otherwise by killing it. */
  async end(): Promise<void> {
    this.#ending = true;
    if (this.clients.size > 0) this.kill("was stopped");
    if (this.lost === undefined) {
      this.#channel.send({ type: "end" });
      const timer = setTimeout(() => this.#channel.kill(), END_LIMIT_MS);
      await this.gone;
      clearTimeout(timer);
    }
    await this.gone;
  }

  /** Ends the isolate immediately. */
  kill(reason: string): void {
    this.#ending = true;
    this.#lose(reason);
  }

  #receive(message: FromIsolate): void {
    if (message.type === "ready") this.#take(0)?.resolve(message.contract);
    else if (message.type === "unusable") {
      this.#take(0)?.reject(unpackError(message.error));
      this.kill("could not be used");
    } else {
      const pending = this.#take(message.id);
      if (pending?.call !== undefined && message.effects !== undefined) pending.call.effects.state = message.effects;
      if (message.type === "answer") pending?.resolve(message.value);
      else pending?.reject(unpackError(message.error));
    }
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

  /** Kills an isolate whose event loop is blocked, with all its sessions. */
  async #check(): Promise<void> {
    if (this.suspect || this.lost !== undefined) return;
    this.suspect = true;
    let answered = false;
    const timer = afterReading(PING_LIMIT_MS, () => {
      if (!answered) this.#lose("is blocked");
    });
    try {
      await this.request(undefined, { method: "ping" });
      answered = true;
      this.suspect = false;
      this.onCleared();
    } catch {
      // Lost: all clients have been notified.
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

function reasonOf(signal: AbortSignal | undefined): string {
  const reason: unknown = signal?.reason;
  return reason instanceof Error ? reason.message : String(reason);
}
