import type { ClientContract, ConnectOptions, EnvClient, GenericContract } from "openenv-ts/client";
import { createExitExplainer, loadClient } from "openenv-ts/internal";
import type { StartedServer } from "./provider.js";

/** A client of an environment that was started for it: its `close()` ends both. */
export interface ManagedClient<C extends ClientContract = GenericContract> extends EnvClient<C> {
  /** The last lines that the environment wrote; at most 64 KB. */
  logs(): Promise<string>;
}

/**
 * Connects to what was started, and ends it when that fails. What was started belongs to the client from now on: when it
 * ends by itself, the errors of the lost session say why, in the words of what ran it.
 */
export async function connectStarted<C extends ClientContract>(
  started: StartedServer,
  contract: C | undefined,
  options: ConnectOptions,
): Promise<ManagedClient<C>> {
  try {
    const { url, ended } = started;
    const explainLoss = ended && createExitExplainer({ url, ended: ended.bind(started) });
    const { connectTo } = await loadClient();
    const client = (await connectTo(started.url, contract, { ...options, explainLoss })) as unknown as EnvClient<C>;
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
  // The getters of the client stay getters.
  return Object.defineProperties({} as ManagedClient<C>, {
    ...Object.getOwnPropertyDescriptors(client),
    logs: { value: () => started.logs(), enumerable: true },
    close: { value: close, enumerable: true },
    [Symbol.asyncDispose]: { value: close },
  });
}
