import { ConfigError, type ConnectionError } from "../../errors.js";
import type { JsonObject } from "../../protocol/messages.js";
import type { ForkRequest } from "../../protocol/published.js";
import type { ReceivedMessage, Transport } from "../../protocol/transport.js";
import { abortedBeforeSent, sessionLost } from "../failures.js";
import type { CallOptions } from "../options.js";
import { withLimits } from "./limits.js";

/** A transport whose requests have limits. A late answer closes it, so that the answer is never matched to a later request. */
export class LimitedTransport {
  /** The extensions that the server confirmed. */
  extensions: readonly string[] = [];
  /** The process that answers, with the extension `move`: an address can lead to several. */
  server: string | undefined;
  /** The public name of the session, or of the batch. */
  handle: string | undefined;
  /** Why the transport was closed. */
  dropped: ConnectionError | undefined;
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  get resumes(): boolean {
    return this.#transport.resumes === true;
  }

  get up(): boolean {
    return this.dropped === undefined && this.#transport.open;
  }

  /** Sends one request at a time. @throws ConnectionError without an answer, RemoteError if it cannot be encoded. */
  async request(message: JsonObject, limits: CallOptions): Promise<ReceivedMessage> {
    if (limits.signal?.aborted) throw abortedBeforeSent(limits.signal);
    if (this.dropped) throw sessionLost(this.dropped);
    const answer = await this.#cancellable(limits.signal, (signal) =>
      withLimits(this.#transport.request(message), { ...limits, signal }, (error) => this.drop(error)),
    );
    const { openenv } = answer;
    if (Array.isArray(openenv?.extensions)) this.extensions = openenv.extensions;
    if (typeof openenv?.server === "string") this.server = openenv.server;
    if (typeof openenv?.session === "string") this.handle = openenv.session;
    return answer;
  }

  /** Cancels the request when the signal is aborted. Where that is not possible, the session is lost. */
  async #cancellable<T>(wanted: AbortSignal | undefined, request: (given?: AbortSignal) => Promise<T>): Promise<T> {
    if (wanted === undefined) return request();
    const lost = new AbortController();
    const cancel = (): void => {
      if (this.#transport.cancel?.() !== true) lost.abort(wanted.reason);
    };
    wanted.addEventListener("abort", cancel);
    try {
      return await request(lost.signal);
    } finally {
      wanted.removeEventListener("abort", cancel);
    }
  }

  /** @throws RemoteError or ConnectionError when there are no copies. */
  async fork(request: ForkRequest): Promise<Transport[]> {
    if (this.dropped) throw sessionLost(this.dropped);
    if (!this.#transport.fork) {
      throw new ConfigError("Only a session that is resumable can be copied: connect with { resume: true }.");
    }
    return this.#transport.fork(request);
  }

  drop(reason: ConnectionError): void {
    this.dropped ??= reason;
    void this.#transport.close();
  }

  close(): Promise<void> {
    return this.#transport.close();
  }
}
