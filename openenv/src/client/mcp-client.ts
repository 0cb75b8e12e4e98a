import type { MetadataBody } from "../protocol/http.js";
import type { JsonObject } from "../protocol/messages.js";
import type { ClientContract, GenericContract } from "./contract.js";
import { createEnvClient, type EnvClient } from "./env-client.js";
import { callInProduction, listInProduction, RpcDoor } from "./mcp-production.js";
import { type ToolCallResult, type ToolInfo, toToolCallResult, toToolInfos } from "./mcp-result.js";
import type { CallOptions, ConnectOptions } from "./options.js";
import { prepare } from "./prepare.js";
import { parseResult } from "./result.js";
import { createSession, type Session } from "./session.js";
import { createTaskClient } from "./tasks.js";

export interface ConnectToolsOptions extends ConnectOptions {
  /**
   * `simulation`: a call is a step, which may earn a reward and end the episode. `production`: calls go beside the
   * episode, which somebody else drives, perhaps. Default `simulation`.
   */
  mode?: "simulation" | "production" | undefined;
}

/** One session of an environment with tools. */
export interface McpToolClient<C extends ClientContract = GenericContract> extends EnvClient<C> {
  readonly mode: "simulation" | "production";
  /**
   * What the environment offers. In simulation this is a step.
   * @throws RemoteError also when the environment has no tools: an empty list is never a failure.
   */
  listTools(call?: CallOptions): Promise<ToolInfo[]>;
  /**
   * Calls a tool with its arguments by name.
   * @throws ToolCallError when the tool gave no result, RemoteError or ConnectionError when it was not called.
   * @example const { data } = await client.callTool("greet", { name: "Ada" });
   */
  callTool(name: string, given?: JsonObject, call?: CallOptions): Promise<ToolCallResult>;
}

/**
 * Opens one session of an environment with tools. Works with servers of this package and of the Python package.
 * @throws ConnectionError CONNECTION_FAILED when no connection is to be had, ContractMismatchError when the server's
 * schema breaks the contract.
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
export function connectTools(url: string | URL, options?: ConnectToolsOptions): Promise<McpToolClient>;
export async function connectTools(
  url: string | URL,
  second: ClientContract | ConnectToolsOptions = {},
  third: ConnectToolsOptions = {},
): Promise<McpToolClient> {
  const [contract, options] = "schemas" in second ? [second, third] : [undefined, second];
  const { base, http, open, shape, timeoutMs } = await prepare(url, contract, options);
  const { mode = "simulation" } = options;
  const door = new RpcDoor(http);
  const link = mode === "simulation" ? open : (signal?: AbortSignal) => door.attach((id) => open(signal, [], id));
  const session = await createSession(link, options.signal).catch(async (error: unknown) => {
    await door.close();
    throw error;
  });
  const metadata = async () => (await http.get("/metadata")) as MetadataBody;
  const client = createEnvClient<GenericContract>({
    url: base,
    session,
    shape,
    tasks: createTaskClient(http),
    metadata,
    timeoutMs,
  });
  const tools = mode === "simulation" ? toolsByStep(session, timeoutMs) : toolsByRpc(door);
  const close = async (): Promise<void> => {
    await session.close();
    await door.close();
  };
  return Object.assign(client, { mode, ...tools, close, [Symbol.asyncDispose]: close });
}

type ToolMethods = Pick<McpToolClient, "listTools" | "callTool">;

function toolsByStep(session: Session, timeoutMs: number): ToolMethods {
  const step = async (data: JsonObject, call: CallOptions) => {
    const answer = await session.call({ type: "step", data }, { timeoutMs, ...call });
    return parseResult(answer, session.extensions);
  };
  return {
    listTools: async (call = {}) => toToolInfos((await step({ type: "list_tools" }, call)).observation["tools"]),
    callTool: async (name, given = {}, call = {}) => {
      const { observation, ...rest } = await step({ type: "call_tool", tool_name: name, arguments: given }, call);
      return toToolCallResult(name, { result: observation["result"], error: observation["error"] }, rest);
    },
  };
}

function toolsByRpc(door: RpcDoor): ToolMethods {
  return {
    listTools: (call = {}) => listInProduction(door, call),
    callTool: (name, given = {}, call = {}) => callInProduction(door, { name, given }, call),
  };
}
