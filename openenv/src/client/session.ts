import { ConnectionError, RemoteError } from "../errors.js";
import type { Link } from "../protocol/link.js";
import type { JsonObject } from "../protocol/messages.js";
import { Line } from "./line.js";
import { type ExplainLoss, limitsLeft } from "./loss.js";
import type { CallOptions } from "./options.js";
import { abortedBeforeSent } from "./turns.js";

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

/** `open` makes a link; it is called now and for each reset after a loss, of which `explain` may know more. */
export async function createSession(
  open: (signal: AbortSignal | undefined) => Promise<Link>,
  signal: AbortSignal | undefined,
  explain?: ExplainLoss,
): Promise<Session> {
  const line = new Line({ open, link: await open(signal), opener: "connect" });
  /** Why the episode is gone, until a reset was answered: a server may let a step pass that no reset came before. */
  let lost: ConnectionError | undefined;
  const lose = (error: ConnectionError): void => {
    lost = error;
  };

  const perform = async (message: JsonObject, options: CallOptions): Promise<JsonObject> => {
    const isReset = message["type"] === "reset";
    if (isReset && !line.up) {
      lost ??= new ConnectionError("SESSION_LOST", "its connection ended, and no reset has succeeded since.");
      await line.reopen(options.signal);
    }
    if (options.signal?.aborted) throw abortedBeforeSent(options.signal);
    if (lost && !isReset) throw lostError(lost);
    const answer = await line.request(message, options, lose);
    if (answer.type === "error") throw remoteError(answer.data);
    if (isReset) lost = undefined;
    return answer.data;
  };

  const take: Session["call"] = (message, options) => line.take(options.signal, () => perform(message, options));
  const takeWith = (explained: ExplainLoss): Session["call"] => {
    return async (message, options) => {
      const begunAt = Date.now();
      try {
        return await take(message, options);
      } catch (error) {
        throw line.explain(await explained(error, limitsLeft(options, begunAt)));
      }
    };
  };

  return {
    get lost() {
      return lost !== undefined || !line.up;
    },
    get extensions() {
      return line.extensions;
    },
    call: explain ? takeWith(explain) : take,
    close: () => line.close(),
  };
}

function remoteError(data: JsonObject): RemoteError {
  const { code, message, ...details } = data;
  return new RemoteError(String(code), String(message), details);
}

function lostError(cause: ConnectionError): ConnectionError {
  const message = `The session was lost: ${cause.message} Call reset to start a new episode.`;
  return new ConnectionError("SESSION_LOST", message, { cause });
}
