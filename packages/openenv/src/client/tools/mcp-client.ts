import type { JsonObject } from "../../protocol/messages.js";
import { partsOf } from "../connect-to.js";
import type { ClientContract, GenericContract } from "../contract/contract.js";
import { type ClientParts, createEnvClient, type EnvClient } from "../env-client.js";
import type { CallOptions, ConnectOptions } from "../options.js";
import { prepare } from "../prepare.js";
import { parseResult } from "../result.js";
import { ClientSession } from "../transport/session.js";
import { type AskRpc, callInProduction, JsonRpcClient, listInProduction } from "./mcp-production.js";
import { type ToolCallResult, type ToolInfo, toToolInfos } from "./mcp-result.js";
import { callByStep } from "./tool-methods.js";

export interface ConnectToolsOptions extends ConnectOptions {
  /**
   * `simulation`: a call is a step, which can earn a reward and end the episode. `production`: calls are not part of
   * the episode, which another client may control. Default `simulation`.
   */
  mode?: "simulation" | "production" | undefined;
}

/** One session of an environment with tools. */
export interface McpToolClient<C extends ClientContract = GenericContract> extends EnvClient<C> {
  readonly mode: "simulation" | "production";
  /**
   * Lists the tools of the environment. In simulation this is a step.
   * @throws RemoteError also when the environment has no tools: a failure is never an empty list.
   */
  listTools(call?: CallOptions): Promise<ToolInfo[]>;
  /**
   * Calls a tool with its arguments by name.
   * @throws ToolCallError when the tool returned no result, RemoteError or ConnectionError when it was not called.
   * @example const { data } = await client.callTool("greet", { name: "Ada" });
   */
  callTool(name: string, given?: JsonObject, call?: CallOptions): Promise<ToolCallResult>;
}

/** Opens one session of a server whose tools can be called by name. */
export async function connectToolsTo(
  url: string | URL,
  contract: ClientContract | undefined,
  options: ConnectToolsOptions,
): Promise<McpToolClient> {
  const prepared = await prepare(url, contract, options);
  const { mode = "simulation" } = options;
  const endpoint = new JsonRpcClient(prepared.http);
  const attach = (signal: AbortSignal | undefined) =>
    endpoint.attach((sessionId) => prepared.open(signal, { sessionId }));
  const source = mode === "simulation" ? prepared : { ...prepared, open: attach };
  const transport = await source.open(options.signal).catch(async (error: unknown) => {
    await endpoint.close();
    throw error;
  });
  return createToolClient(partsOf(prepared, new ClientSession(source, transport)), {
    mode,
    ask: () => endpoint.ask.bind(endpoint),
    close: () => endpoint.close(),
  });
}

/** The access to tools outside of the episode, and what the client closes. */
interface ToolAccess {
  mode: "simulation" | "production";
  ask(session: ClientSession): AskRpc;
  close?(): Promise<void>;
}

export function createToolClient(parts: ClientParts, { mode, ask, close: closeAccess }: ToolAccess): McpToolClient {
  const { session } = parts;
  const toolsOf = mode === "simulation" ? callByStep : (of: ClientSession) => callInProduction(ask(of));
  const listByStep = async (call: CallOptions): Promise<ToolInfo[]> => {
    const answer = await session.call({ type: "step", data: { type: "list_tools" } }, call);
    return toToolInfos(parseResult(answer.data, session.extensions).observation["tools"]);
  };
  const close = async (): Promise<void> => {
    await session.close();
    await closeAccess?.();
  };
  return Object.assign(createEnvClient<GenericContract>({ ...parts, toolsOf }), {
    mode,
    listTools: (call: CallOptions = {}) =>
      mode === "simulation" ? listByStep(call) : listInProduction(ask(session), call),
    callTool: (name: string, given: JsonObject = {}, call: CallOptions = {}) => toolsOf(session)(name, given, call),
    close,
    [Symbol.asyncDispose]: close,
  });
}
