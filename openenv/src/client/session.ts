import { ConnectionError, RemoteError } from "../errors.js";
import type { Link } from "../protocol/link.js";
import type { JsonObject } from "../protocol/messages.js";
import { withLimits } from "./limits.js";
import type { CallOptions } from "./options.js";
import { abortedBeforeSent, createQueue } from "./queue.js";

/** What a client keeps up over its links: the order of calls, and what happens after a loss. */
export interface Session {
  /** True when the next step would be refused: the episode is gone until a `reset` is answered. */
  readonly lost: boolean;
  /** The extensions that the server took up on the present link. */
  readonly extensions: readonly string[];
  /**
   * The data of the answer. After a loss only a reset is sent, on a new link.
   * @throws RemoteError for an error frame, ConnectionError when there is no answer to be had.
   */
  call(message: JsonObject, options: CallOptions): Promise<JsonObject>;
  close(): Promise<void>;
}

/** `open` makes a link; it is called now and for each reset after a loss. */
export async function createSession(
  open: (signal: AbortSignal | undefined) => Promise<Link>,
  signal: AbortSignal | undefined,
): Promise<Session> {
  const queue = createQueue();
  const closing = new AbortController();
  let link = await open(signal);
  let extensions: readonly string[] = [];
  /** A call on the link was given up: its late answer must never be taken for another one's. */
  let dropped = false;
  /** Why the episode is gone, until a reset was answered: a server may let a step pass that no reset came before. */
  let lost: ConnectionError | undefined;

  const reconnect = async (callSignal: AbortSignal | undefined): Promise<void> => {
    lost ??= new ConnectionError("SESSION_LOST", "its connection ended, and no reset has succeeded since.");
    const fresh = await open(callSignal ? AbortSignal.any([callSignal, closing.signal]) : closing.signal);
    link = fresh;
    dropped = false;
    extensions = [];
    // close() has seen the old link only.
    if (closing.signal.aborted) await fresh.close();
  };

  const drop = (error: ConnectionError): void => {
    dropped = true;
    lost = error;
    void link.close();
  };

  const perform = async (message: JsonObject, options: CallOptions): Promise<JsonObject> => {
    const isReset = message["type"] === "reset";
    if (isReset && (dropped || !link.open)) await reconnect(options.signal);
    if (closing.signal.aborted) throw closedError();
    if (options.signal?.aborted) throw abortedBeforeSent(options.signal);
    if (lost && !isReset) throw lostError(lost);
    const answer = await withLimits(link.request(message), options, drop);
    if (Array.isArray(answer.openenv?.extensions)) extensions = answer.openenv.extensions;
    if (answer.type === "error") throw remoteError(answer.data);
    if (isReset) lost = undefined;
    return answer.data;
  };

  return {
    get lost() {
      return lost !== undefined || !link.open;
    },
    get extensions() {
      return extensions;
    },
    call: async (message, options) => {
      if (closing.signal.aborted) throw closedError();
      await queue.enter(options.signal);
      try {
        return await perform(message, options);
      } catch (error) {
        throw closing.signal.aborted ? closedError(error) : error;
      } finally {
        queue.leave();
      }
    },
    close: async () => {
      if (closing.signal.aborted) return;
      closing.abort();
      queue.clear(closedError());
      await link.close();
    },
  };
}

function remoteError(data: JsonObject): RemoteError {
  const { code, message, ...details } = data;
  return new RemoteError(String(code), String(message), details);
}

function closedError(cause?: unknown): ConnectionError {
  return new ConnectionError("CLIENT_CLOSED", "The client was closed; open a new one with connect().", { cause });
}

function lostError(cause: ConnectionError): ConnectionError {
  const message = `The session was lost: ${cause.message} Call reset to start a new episode.`;
  return new ConnectionError("SESSION_LOST", message, { cause });
}
