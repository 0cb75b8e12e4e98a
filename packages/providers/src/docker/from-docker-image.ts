import type { ClientContract, ConnectOptions, GenericContract } from "openenv-ts/client";
import { connectStarted, type ManagedClient } from "../connect-started.js";
import { rejectUnknown } from "../lifecycle/check-options.js";
import { startPrewarmed } from "../lifecycle/prewarm.js";
import type { Provider, StartOptions } from "../provider.js";
import { dockerProvider } from "./docker-provider.js";

/** Options of everything that starts an environment and connects to it. */
export interface ManagedClientOptions<C extends ClientContract = GenericContract> extends StartOptions {
  /** Types the client; without one it is generic, from the server's `/schema`. */
  contract?: C | undefined;
  /** How it is started. */
  provider?: Provider | undefined;
  /**
   * Keeps so many more started, so that the next call with the same arguments and the same `provider` object has one at
   * once. They end with this process or `closePrewarmed()`. Default 0.
   */
  prewarm?: number | undefined;
  /** Options of the connection. */
  connect?: Omit<ConnectOptions, "signal"> | undefined;
}

/** The names of all options. */
const MANAGED_CLIENT_OPTIONS = [
  "contract",
  "provider",
  "prewarm",
  "connect",
  "env",
  "timeoutMs",
  "signal",
  "replicas",
  "onProgress",
] as const satisfies readonly (keyof ManagedClientOptions)[];

/**
 * Starts an image and opens one session of it. `close()` ends the session, stops the container and removes it. The
 * provider is `dockerProvider()` unless told.
 * @throws ConfigError for a wrong option, ProviderError when the start fails, and whatever `connect` throws; then nothing is left.
 * @example
 * await using env = await fromDockerImage("echo-env", { contract: echo });
 * await env.reset();
 */
export async function fromDockerImage<C extends ClientContract = GenericContract>(
  image: string,
  options: ManagedClientOptions<C> = {},
): Promise<ManagedClient<C>> {
  rejectUnknown("fromDockerImage()", options, MANAGED_CLIENT_OPTIONS);
  const { contract, provider = DEFAULT, prewarm = 0, connect = {}, ...start } = options;
  const started = await startPrewarmed(provider, { image, ...start }, prewarm);
  return connectStarted(started, contract, { ...connect, signal: start.signal });
}

/** One for all calls, so that they share their spares. */
const DEFAULT = dockerProvider();
