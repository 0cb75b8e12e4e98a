import type { ClientContract, ConnectOptions, GenericContract } from "openenv-ts/client";
import { connectStarted, type ManagedClient } from "../connect-started.js";
import { rejectUnknown } from "../lifecycle/check-options.js";
import { startPrewarmed } from "../lifecycle/prewarm.js";
import type { Provider, StartOptions } from "../provider.js";
import { dockerProvider } from "./docker-provider.js";

/** Options of the functions that start an environment and connect to it. */
export interface ManagedClientOptions<C extends ClientContract = GenericContract> extends StartOptions {
  /** Types the client; without it the client is generic and reads the server's `/schema`. */
  contract?: C | undefined;
  /** The provider that starts the environment. */
  provider?: Provider | undefined;
  /**
   * Keeps this many spare servers started for the next calls with the same arguments and the same `provider` object.
   * They are closed with this process or by `closePrewarmed()`. Default 0.
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
 * Starts an image and opens one session of it. `close()` closes the session, and stops and removes the container. The
 * default provider is `dockerProvider()`.
 * @throws ConfigError for an invalid option, ProviderError when the start fails, and the errors of `connect`; nothing
 * is left running then.
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

/** One provider for all calls, so that they share their spares. */
const DEFAULT = dockerProvider();
