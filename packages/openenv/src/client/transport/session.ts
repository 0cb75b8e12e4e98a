import { ConnectionError } from "../../errors.js";
import type { JsonObject } from "../../protocol/messages.js";
import type { ForkRequest } from "../../protocol/published.js";
import type { ReceivedMessage, Transport } from "../../protocol/transport.js";
import { abortedBeforeSent, clientClosed, lostBecause, sessionLost, toCallFailure } from "../failures.js";
import type { CallOptions } from "../options.js";
import { type ExplainExit, limitsLeft } from "./exit-reason.js";
import { LimitedTransport } from "./limited-transport.js";
import { type TurnHolder, takeTurn } from "./turns.js";

/** Where the sessions of a client are. */
export interface SessionSource {
  /**
   * Creates a transport, at the start and for each reset after a loss; `isMoving`: for a reset on another server, because
   * that of the session is paused or stops.
   */
  open(signal: AbortSignal | undefined, options?: { isMoving: boolean }): Promise<Transport>;
  /** Default timeout of a call, milliseconds. */
  timeoutMs: number;
  /** Adds the cause of a loss. */
  explain?: ExplainExit | undefined;
}

/** One session: makes its calls in order, and opens a new transport for the first reset after a loss. */
export class ClientSession implements TurnHolder {
  turn: Promise<void> | undefined;
  readonly #source: SessionSource;
  readonly #closing = new AbortController();
  #transport: LimitedTransport;
  /** Why the episode is lost, until a reset succeeds: a server may allow a step before the first reset. */
  #lost: ConnectionError | undefined;

  constructor(source: SessionSource, transport: Transport) {
    this.#source = source;
    this.#transport = new LimitedTransport(transport);
  }

  /** True when the next step would be rejected: the episode is lost until a `reset` succeeds. */
  get lost(): boolean {
    return this.#lost !== undefined || !this.#transport.up;
  }

  /** The extensions that the server confirmed on the current transport. */
  get extensions(): readonly string[] {
    return this.#transport.extensions;
  }

  /** The public name of the session, where the server gives one. */
  get handle(): string | undefined {
    return this.#transport.handle;
  }

  /**
   * Returns the answer. After a loss only a reset is sent, on a new transport.
   * @throws RemoteError for an error frame, ConnectionError when there is no answer.
   */
  async call(
    message: JsonObject,
    { timeoutMs = this.#source.timeoutMs, signal }: CallOptions,
  ): Promise<ReceivedMessage> {
    const options = { timeoutMs, signal };
    const startedAt = performance.now();
    try {
      return await this.#inTurn(signal, () => this.#perform(message, options));
    } catch (error) {
      const { explain } = this.#source;
      const explained = explain ? await explain(error, limitsLeft(options, startedAt)) : error;
      // Once the client is closed, that is the cause of every failure.
      throw this.#closing.signal.aborted ? clientClosed("connect", explained) : explained;
    }
  }

  /** Opens copies of the session. @throws ConfigError when it cannot be copied, RemoteError, ConnectionError. */
  fork(request: ForkRequest, signal: AbortSignal | undefined): Promise<ClientSession[]> {
    return this.#inTurn(signal, async () => {
      if (this.#lost) throw sessionLost(this.#lost);
      const copies = await this.#transport.fork(request);
      return copies.map((copy) => new ClientSession(this.#source, copy));
    });
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#transport.close();
  }

  #inTurn<T>(signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> {
    return takeTurn([this], this.#orClosing(signal), async () => {
      if (this.#closing.signal.aborted) throw clientClosed("connect");
      if (signal?.aborted) throw abortedBeforeSent(signal);
      return work();
    });
  }

  async #perform(message: JsonObject, options: CallOptions): Promise<ReceivedMessage> {
    const isReset = message["type"] === "reset";
    if (isReset && !this.#transport.up) await this.#reopen(options.signal);
    if (this.#lost && !isReset) throw sessionLost(this.#lost);
    let answer = await this.#transport.request(message, options).catch(async (error: unknown) => {
      // A resumable session can turn out to be gone only now.
      const isGone = error instanceof ConnectionError && error.code === "SESSION_LOST" && !this.#transport.up;
      if (!isReset || !isGone || !this.#transport.resumes || this.#closing.signal.aborted) throw error;
      await this.#reopen(options.signal);
      return this.#transport.request(message, options);
    });
    if (answer.type === "error" && answer.data["code"] === "RESET_ELSEWHERE") {
      answer = (await this.#move(message, options)) ?? (await this.#transport.request(message, options));
    }
    if (answer.type === "error") {
      const failure = toCallFailure(answer.data);
      if (failure instanceof ConnectionError) this.#transport.drop(failure);
      throw failure;
    }
    if (isReset) this.#lost = undefined;
    return answer;
  }

  async #reopen(signal: AbortSignal | undefined): Promise<void> {
    this.#lost ??= this.#transport.dropped ?? lostBecause("its connection ended, and no reset has succeeded since");
    await this.#transport.close();
    this.#transport = new LimitedTransport(await this.#source.open(this.#orClosing(signal)));
    // close() may have run before this transport was assigned.
    if (this.#closing.signal.aborted) await this.#transport.close();
  }

  /** Makes a reset on another server. Undefined when no server opens a session. */
  async #move(message: JsonObject, options: CallOptions): Promise<ReceivedMessage | undefined> {
    const signal = this.#orClosing(options.signal);
    const opened = await this.#source.open(signal, { isMoving: true }).catch(() => undefined);
    if (opened === undefined) return undefined;
    const next = new LimitedTransport(opened);
    const answer = await next.request(message, options).catch(() => undefined);
    // close() may have run before this transport was assigned.
    const isUsed = answer !== undefined && next.up && !this.#closing.signal.aborted;
    const left = isUsed ? this.#transport : next;
    if (isUsed) this.#transport = next;
    await left.close();
    return isUsed ? answer : undefined;
  }

  #orClosing(signal: AbortSignal | undefined): AbortSignal {
    return signal ? AbortSignal.any([signal, this.#closing.signal]) : this.#closing.signal;
  }
}
