import type { ClientContract, ConnectOptions, EnvClient, GenericContract } from "openenv-ts/client";
import { loadClient } from "openenv-ts/internal";
import type { StartedServer } from "./provider.js";

/** A client of an environment that was started for it; `close()` closes both. */
export interface ManagedClient<C extends ClientContract = GenericContract> extends EnvClient<C> {
  /** Returns the last lines of the environment's output, at most 64 KB. */
  logs(): Promise<string>;
}

/**
 * Connects to a started server, and closes the server when the connection fails. The client owns the server from then
 * on. When the server exits by itself, the errors of the lost session include the reason that the provider reports.
 */
export async function connectStarted<C extends ClientContract>(
  started: StartedServer,
  contract: C | undefined,
  options: ConnectOptions,
): Promise<ManagedClient<C>> {
  try {
    const { connectTo } = await loadClient();
    const ended = started.ended?.bind(started);
    const client = (await connectTo(started.url, contract, { ...options, ended })) as unknown as EnvClient<C>;
    return owning(client, started);
  } catch (error) {
    await started.close();
    throw error;
  }
}

function owning<C extends ClientContract>(client: EnvClient<C>, started: StartedServer): ManagedClient<C> {
  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => {
    closing ??= client.close().finally(() => started.close());
    return closing;
  };
  // Copies descriptors, so that the getters of the client stay getters.
  return Object.defineProperties({} as ManagedClient<C>, {
    ...Object.getOwnPropertyDescriptors(client),
    logs: { value: () => started.logs(), enumerable: true },
    close: { value: close, enumerable: true },
    [Symbol.asyncDispose]: { value: close },
  });
}
