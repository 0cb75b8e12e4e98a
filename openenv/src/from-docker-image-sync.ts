import type { ClientContract, GenericContract } from "./client/contract.js";
import type { SyncConnectOptions } from "./client/sync/types.js";
import { refuseUnknown } from "./providers/check-options.js";
import { dockerProvider } from "./providers/docker/docker-provider.js";
import { FROM_OPTIONS, type FromOptions } from "./providers/from-docker-image.js";
import { connectStartedSync, type StartedSyncClient } from "./providers/sync/connect-started-sync.js";
import { startSync, withoutPromises } from "./providers/sync/start-sync.js";
import { recipeOf, renderStart } from "./providers/sync/start-task.js";

export type { StartedSyncClient };

/** As those of `fromDockerImage`; a thread that waits cannot be aborted, nor be told of the progress. */
export interface SyncFromOptions<C extends ClientContract = GenericContract>
  extends Omit<FromOptions<C>, "signal" | "onProgress" | "connect"> {
  /** Options of the connection. */
  connect?: SyncConnectOptions | undefined;
}

const KNOWN = withoutPromises(FROM_OPTIONS);

/**
 * As `fromDockerImage`, with calls that block this thread; another one does the work meanwhile.
 * @throws ConfigError for a wrong option or a provider that another thread cannot make, ProviderError when the start
 * fails, and whatever `connectSync` throws; then nothing is left.
 * @example
 * using env = fromDockerImageSync("echo-env", { contract: echo });
 * env.reset();
 */
export function fromDockerImageSync<C extends ClientContract = GenericContract>(
  image: string,
  options: SyncFromOptions<C> = {},
): StartedSyncClient<C> {
  refuseUnknown("fromDockerImageSync()", options, KNOWN);
  const { contract, provider = dockerProvider(), prewarm = 0, connect = {}, ...start } = options;
  const task = { provider: recipeOf(provider, "fromDockerImage()"), spec: { image, ...start }, prewarm };
  const started = startSync(renderStart(task), start.timeoutMs);
  return connectStartedSync(started, contract, connect);
}
