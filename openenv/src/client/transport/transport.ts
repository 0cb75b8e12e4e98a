import type { ConnectionError } from "../../errors.js";
import type { Link, ReceivedMessage } from "../../protocol/link.js";
import type { JsonObject } from "../../protocol/messages.js";
import { sessionLost } from "../failures.js";
import type { CallOptions } from "../options.js";
import { withLimits } from "./limits.js";
import { abortedBeforeSent } from "./turns.js";

/** A link with limits. It is dropped when an answer does not arrive in time, so that it never answers a later request. */
export class Transport {
  /** The extensions that the server confirmed. */
  extensions: readonly string[] = [];
  /** Why it was dropped. */
  dropped: ConnectionError | undefined;
  readonly #link: Link;

  constructor(link: Link) {
    this.#link = link;
  }

  get up(): boolean {
    return this.dropped === undefined && this.#link.open;
  }

  /** One request at a time. @throws ConnectionError when there is no answer, RemoteError when it cannot be written. */
  async request(message: JsonObject, limits: CallOptions): Promise<ReceivedMessage> {
    if (limits.signal?.aborted) throw abortedBeforeSent(limits.signal);
    if (this.dropped) throw sessionLost(this.dropped);
    const answer = await withLimits(this.#link.request(message), limits, (error) => this.drop(error));
    if (Array.isArray(answer.openenv?.extensions)) this.extensions = answer.openenv.extensions;
    return answer;
  }

  drop(reason: ConnectionError): void {
    this.dropped ??= reason;
    void this.#link.close();
  }

  close(): Promise<void> {
    return this.#link.close();
  }
}
