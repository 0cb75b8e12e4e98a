import type { ClientContract } from "../contract.js";
import type { ConnectOptions } from "../options.js";
import { type Prepared, prepare } from "../prepare.js";

/** One of the servers of a pool. */
export interface PoolServer {
  readonly url: string;
  /** How many sessions of the pool are placed there. */
  load: number;
  /** Compares the contract, once it was reached. @throws ConnectionError, ContractMismatchError. */
  prepare(signal: AbortSignal | undefined): Promise<Prepared>;
}

export function createPoolServer(
  url: string,
  contract: ClientContract | undefined,
  options: ConnectOptions,
): PoolServer {
  let prepared: Promise<Prepared> | undefined;
  return {
    url,
    load: 0,
    prepare: (signal) => {
      const asking = prepared ?? prepare(url, contract, { ...options, signal });
      prepared = asking;
      // One that could not be reached is asked again by the next that wants it.
      asking.catch(() => {
        if (prepared === asking) prepared = undefined;
      });
      return asking;
    },
  };
}
