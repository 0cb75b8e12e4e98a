import type { ClientContract, GenericContract } from "./client/contract.js";
import type { SyncConnectOptions } from "./client/sync/types.js";
import { refuseUnknown } from "./providers/check-options.js";
import { explainConnect, HUB_OPTIONS, type HubOptions } from "./providers/from-hub.js";
import { connectStartedSync, type StartedSyncClient } from "./providers/sync/connect-started-sync.js";
import { startSync, withoutPromises } from "./providers/sync/start-sync.js";
import { recipeOf, renderHubStart } from "./providers/sync/start-task.js";

/** As those of `fromHub`; a thread that waits cannot be aborted, nor be told of the progress. */
export interface SyncHubOptions<C extends ClientContract = GenericContract>
  extends Omit<HubOptions<C>, "signal" | "onProgress" | "connect"> {
  /** Options of the connection. */
  connect?: SyncConnectOptions | undefined;
}

const KNOWN = withoutPromises(HUB_OPTIONS);

/**
 * As `fromHub`, with calls that block this thread; another one does the work meanwhile.
 * @throws ConfigError for a wrong option or a provider that another thread cannot make, ProviderError when the Space
 * cannot be had or the start fails, and whatever `connectSync` throws; then nothing is left.
 * @example
 * using env = fromHubSync("openenv/echo_env", { contract: echo });
 * env.reset();
 */
export function fromHubSync<C extends ClientContract = GenericContract>(
  repo: string,
  options: SyncHubOptions<C> = {},
): StartedSyncClient<C> {
  refuseUnknown("fromHubSync()", options, KNOWN);
  const { contract, provider, connect = {}, ...start } = options;
  const recipe = provider && recipeOf(provider, "fromHub()");
  const started = startSync(renderHubStart({ repo, provider: recipe, options: start }), start.timeoutMs);
  try {
    return connectStartedSync(started, contract, { ...(started.token && { token: started.token }), ...connect });
  } catch (error) {
    throw explainConnect(error, repo);
  }
}

/** The name that the Python package has for it. @alias */
export const fromEnvSync = fromHubSync;
