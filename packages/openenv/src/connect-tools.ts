import type { ClientContract } from "./client/contract/contract.js";
import { type ConnectToolsOptions, connectToolsTo, type McpToolClient } from "./client/tools/mcp-client.js";
import type { Contract } from "./contract/contract.js";
import type { EnvironmentDefinition } from "./environment/environment.js";

/**
 * Opens one session of an environment with tools: on a server of this package or of the Python package, or in this
 * process without a server. Tools that the contract does not declare can be called too.
 * @throws ConnectionError CONNECTION_FAILED when the connection cannot be opened, ContractMismatchError when the
 * server's schema is incompatible with the contract.
 * @example
 * await using client = await connectTools("http://localhost:8000");
 * await client.reset();
 * const { data, reward, done } = await client.callTool("search", { text: "Du" });
 */
export function connectTools<C extends ClientContract>(
  url: string | URL,
  contract: C,
  options?: ConnectToolsOptions,
): Promise<McpToolClient<C>>;
export function connectTools<C extends Contract>(
  environment: EnvironmentDefinition<C>,
  options?: ConnectToolsOptions,
): Promise<McpToolClient<C>>;
export function connectTools(url: string | URL, options?: ConnectToolsOptions): Promise<McpToolClient>;
export async function connectTools(
  target: string | URL | EnvironmentDefinition,
  second: ClientContract | ConnectToolsOptions = {},
  third: ConnectToolsOptions = {},
): Promise<McpToolClient> {
  if (typeof target !== "string" && !(target instanceof URL)) {
    const { connectToolsInProcess } = await import("./connect-in-process.js");
    return connectToolsInProcess(target, second as ConnectToolsOptions);
  }
  return "schemas" in second ? connectToolsTo(target, second, third) : connectToolsTo(target, undefined, second);
}
