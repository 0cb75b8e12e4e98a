import type { ClientContract, GenericContract } from "../../client/contract.js";
import { connectSync } from "../../client/sync/connect-sync.js";
import type { SyncConnectOptions, SyncEnvClient } from "../../client/sync/types.js";
import type { SyncStarted } from "./start-sync.js";

/** A blocking client of an environment that was started for it: its `close()` ends both. */
export interface StartedSyncClient<C extends ClientContract = GenericContract> extends SyncEnvClient<C> {
  /** The last lines that the environment wrote; at most 64 KB. */
  logs(): string;
}

/** Connects to what was started, and ends it when that fails. What was started belongs to the client from now on. */
export function connectStartedSync<C extends ClientContract>(
  started: SyncStarted,
  contract: C | undefined,
  options: SyncConnectOptions,
): StartedSyncClient<C> {
  let client: SyncEnvClient<C>;
  try {
    client = contract
      ? connectSync(started.url, contract, options)
      : (connectSync(started.url, options) as unknown as SyncEnvClient<C>);
  } catch (error) {
    started.close();
    throw error;
  }
  const close = (): void => {
    try {
      client.close();
    } finally {
      started.close();
    }
  };
  // The getters of the client stay getters.
  return Object.defineProperties({} as StartedSyncClient<C>, {
    ...Object.getOwnPropertyDescriptors(client),
    logs: { value: () => started.logs(), enumerable: true },
    close: { value: close, enumerable: true },
    [Symbol.dispose]: { value: close },
  });
}
