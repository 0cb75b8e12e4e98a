import type { ClientContract } from "../contract/contract.js";
import type { ConnectOptions } from "../options.js";
import { type Prepared, prepare } from "../prepare.js";
import { createExitExplainer, type ExplainExit, type WaitForExit } from "../transport/exit-reason.js";
import { createLimiter } from "./limiter.js";

/** The address of a server; a server that was started also reports why it ended. */
export interface ServerPlace {
  readonly url: string;
  ended?: WaitForExit | undefined;
}

/** One server of a vector environment. */
export class ServerTarget {
  readonly url: string;
  /** The number of sessions placed on it. */
  load = 0;
  /** The number of connections that were replaced, and of sessions that continued on the new ones. */
  readonly recoveries = { connections: 0, sessions: 0 };
  /** False once the server has answered that it does not support batch frames. */
  hasBatch = true;
  /** When this client last looked for the servers behind the address, by `performance.now()`. */
  lookedAt = Number.NEGATIVE_INFINITY;
  /** Limits how many sockets open at the same time on a server without batch frames. */
  readonly handshakes = createLimiter(64);
  /** Adds to an error why the server ended; only for servers that were started. */
  readonly explainExit: ExplainExit | undefined;
  readonly #contract: ClientContract | undefined;
  readonly #options: ConnectOptions;
  #prepared: Promise<Prepared> | undefined;

  constructor(place: ServerPlace, contract: ClientContract | undefined, options: ConnectOptions) {
    const { url } = place;
    this.url = url;
    this.explainExit = place.ended && createExitExplainer({ url, ended: place.ended.bind(place) });
    this.#contract = contract;
    this.#options = options;
  }

  /**
   * Compares the contract, once. Callers share the result, so `signal` must not be that of one call.
   * @throws ConnectionError, RemoteError, ContractMismatchError; the next caller tries again.
   */
  prepare(signal: AbortSignal | undefined): Promise<Prepared> {
    if (this.#prepared) return this.#prepared;
    const preparing = prepare(this.url, this.#contract, { ...this.#options, signal });
    preparing.catch(() => (this.#prepared = undefined));
    this.#prepared = preparing;
    return preparing;
  }
}
