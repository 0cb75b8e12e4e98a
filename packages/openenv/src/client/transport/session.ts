import { ConnectionError } from "../../errors.js";
import type { JsonObject } from "../../protocol/messages.js";
import type { ForkRequest } from "../../protocol/published.js";
import type { ReceivedMessage, Transport } from "../../protocol/transport.js";
import { abortedBeforeSent, clientClosed, sessionLost, toCallFailure } from "../failures.js";
import type { CallOptions } from "../options.js";
import { type ExplainExit, limitsLeft } from "./exit-reason.js";
import { LimitedTransport } from "./limited-transport.js";
import { type TurnHolder, takeTurn } from "./turns.js";

/** The code with which a server asks for the next reset to be made on another one. */
export const RESET_ELSEWHERE = "RESET_ELSEWHERE";

/** One session: makes its calls in order, and opens a new transport for the first reset after a loss. */
export interface ClientSession {
  /** True when the next step would be rejected: the episode is lost until a `reset` succeeds. */
  readonly lost: boolean;
  /** The extensions that the server confirmed on the current transport. */
  readonly extensions: readonly string[];
  /**
   * Returns the answer. After a loss only a reset is sent, on a new transport.
   * @throws RemoteError for an error frame, ConnectionError when there is no answer.
   */
  call(message: JsonObject, options: CallOptions): Promise<ReceivedMessage>;
  /** Opens copies of the session. @throws ConfigError when it cannot be copied, RemoteError, ConnectionError. */
  fork(request: ForkRequest, signal: AbortSignal | undefined): Promise<ClientSession[]>;
  close(): Promise<void>;
}

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

export async function createSession(source: SessionSource, signal: AbortSignal | undefined): Promise<ClientSession> {
  return continueSession(source, await source.open(signal));
}

function continueSession(source: SessionSource, first: Transport): ClientSession {
  const { open, explain } = source;
  let transport = new LimitedTransport(first);
  /** Why the episode is lost, until a reset succeeds: a server may allow a step before the first reset. */
  let lost: ConnectionError | undefined;
  const order: TurnHolder = {};
  const closing = new AbortController();
  const orClosing = (given: AbortSignal | undefined): AbortSignal =>
    given ? AbortSignal.any([given, closing.signal]) : closing.signal;

  const reopen = async (given: AbortSignal | undefined): Promise<void> => {
    lost ??= transport.dropped ?? noReset();
    await transport.close();
    transport = new LimitedTransport(await open(orClosing(given)));
    // close() may have run before this transport was assigned.
    if (closing.signal.aborted) await transport.close();
  };

  /** Makes a reset on another server. Undefined when there is none that opens a session. */
  const move = async (message: JsonObject, options: CallOptions): Promise<ReceivedMessage | undefined> => {
    const opened = await open(orClosing(options.signal), { isMoving: true }).catch(() => undefined);
    if (opened === undefined) return undefined;
    const next = new LimitedTransport(opened);
    const answer = await next.request(message, options).catch(() => undefined);
    // close() may have run before this transport was assigned.
    const isUsed = answer !== undefined && next.up && !closing.signal.aborted;
    const left = isUsed ? transport : next;
    if (isUsed) transport = next;
    await left.close();
    return isUsed ? answer : undefined;
  };

  const perform = async (message: JsonObject, options: CallOptions): Promise<ReceivedMessage> => {
    if (closing.signal.aborted) throw clientClosed("connect");
    if (options.signal?.aborted) throw abortedBeforeSent(options.signal);
    const isReset = message["type"] === "reset";
    if (isReset && !transport.up) await reopen(options.signal);
    if (lost && !isReset) throw sessionLost(lost);
    let answer = await transport.request(message, options).catch(async (error: unknown) => {
      // A resumable session can turn out to be gone only now.
      const isGone = error instanceof ConnectionError && error.code === "SESSION_LOST" && !transport.up;
      if (!isReset || !isGone || !transport.resumes || closing.signal.aborted) throw error;
      await reopen(options.signal);
      return transport.request(message, options);
    });
    if (answer.type === "error" && answer.data["code"] === RESET_ELSEWHERE) {
      answer = (await move(message, options)) ?? (await transport.request(message, options));
    }
    if (answer.type === "error") {
      const failure = toCallFailure(answer.data);
      if (failure instanceof ConnectionError) transport.drop(failure);
      throw failure;
    }
    if (isReset) lost = undefined;
    return answer;
  };

  return {
    get lost() {
      return lost !== undefined || !transport.up;
    },
    get extensions() {
      return transport.extensions;
    },
    call: async (message, { timeoutMs = source.timeoutMs, signal }) => {
      const options = { timeoutMs, signal };
      const startedAt = performance.now();
      try {
        return await takeTurn([order], orClosing(signal), () => perform(message, options));
      } catch (error) {
        const explained = explain ? await explain(error, limitsLeft(options, startedAt)) : error;
        // Once the client is closed, that is the cause of every failure.
        throw closing.signal.aborted ? clientClosed("connect", explained) : explained;
      }
    },
    fork: (request, signal) =>
      takeTurn([order], orClosing(signal), async () => {
        if (closing.signal.aborted) throw clientClosed("connect");
        if (signal?.aborted) throw abortedBeforeSent(signal);
        if (lost) throw sessionLost(lost);
        const copies = await transport.fork(request);
        return copies.map((copy) => continueSession(source, copy));
      }),
    close: async () => {
      closing.abort();
      await transport.close();
    },
  };
}

function noReset(): ConnectionError {
  const message = "The session was lost: its connection ended, and no reset has succeeded since. Call reset.";
  return new ConnectionError("SESSION_LOST", message);
}
