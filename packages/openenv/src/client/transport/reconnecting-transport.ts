import type { ConnectionError } from "../../errors.js";
import type { JsonObject } from "../../protocol/messages.js";
import type { ReceivedMessage, Transport } from "../../protocol/transport.js";
import { sessionLost } from "../failures.js";
import type { CallOptions } from "../options.js";
import { withLimits } from "./limits.js";
import { abortedBeforeSent } from "./turns.js";

/** A transport with limits. It is dropped when an answer does not arrive in time, so that it never answers a later request. */
export class ReconnectingTransport {
  /** The extensions that the server confirmed. */
  extensions: readonly string[] = [];
  /** Why it was dropped. */
  dropped: ConnectionError | undefined;
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  get up(): boolean {
    return this.dropped === undefined && this.#transport.open;
  }

  /** One request at a time. @throws ConnectionError when there is no answer, RemoteError when it cannot be written. */
  async request(message: JsonObject, limits: CallOptions): Promise<ReceivedMessage> {
    if (limits.signal?.aborted) throw abortedBeforeSent(limits.signal);
    if (this.dropped) throw sessionLost(this.dropped);
    const answer = await withLimits(this.#transport.request(message), limits, (error) => this.drop(error));
    if (Array.isArray(answer.openenv?.extensions)) this.extensions = answer.openenv.extensions;
    return answer;
  }

  drop(reason: ConnectionError): void {
    this.dropped ??= reason;
    void this.#transport.close();
  }

  close(): Promise<void> {
    return this.#transport.close();
  }
}
