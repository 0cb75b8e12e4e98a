import { connectTo } from "./client/connect-to.js";
import type { ClientContract } from "./client/contract/contract.js";
import type { EnvClient } from "./client/env-client.js";
import type { ConnectOptions } from "./client/options.js";
import type { Contract } from "./contract/contract.js";
import type { EnvironmentDefinition } from "./environment/environment.js";

/**
 * Opens one session of an environment: on a server, typed by a contract or generic from its `/schema`,
 * or in this process without a server.
 * @throws ConnectionError CONNECTION_FAILED when the connection cannot be opened, ContractMismatchError when the
 * server's schema is incompatible with the contract.
 * @example
 * await using env = await connect("http://localhost:8000", counter);
 * let result = await env.reset({ seed: 7 });
 * while (!result.done) result = await env.step({ amount: 1 });
 */
export function connect<C extends ClientContract>(
  url: string | URL,
  contract: C,
  options?: ConnectOptions,
): Promise<EnvClient<C>>;
export function connect<C extends Contract>(
  environment: EnvironmentDefinition<C>,
  options?: ConnectOptions,
): Promise<EnvClient<C>>;
export function connect(url: string | URL, options?: ConnectOptions): Promise<EnvClient>;
export async function connect(
  target: string | URL | EnvironmentDefinition,
  second: ClientContract | ConnectOptions = {},
  third: ConnectOptions = {},
): Promise<EnvClient> {
  if (typeof target !== "string" && !(target instanceof URL)) {
    const { connectInProcess } = await import("./connect-in-process.js");
    return connectInProcess(target, second as ConnectOptions);
  }
  return "schemas" in second ? connectTo(target, second, third) : connectTo(target, undefined, second);
}
