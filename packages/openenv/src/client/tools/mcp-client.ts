import type { JsonObject } from "../../protocol/messages.js";
import type { MetadataBody } from "../../protocol/published.js";
import type { ClientContract, GenericContract } from "../contract/contract.js";
import { type ClientParts, createEnvClient, type EnvClient } from "../env-client.js";
import type { CallOptions, ConnectOptions } from "../options.js";
import { prepare } from "../prepare.js";
import { parseResult } from "../result.js";
import { createTaskClient } from "../tasks.js";
import { createSession } from "../transport/session.js";
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
  const { base, http, open, shape, timeoutMs } = await prepare(url, contract, options);
  const { mode = "simulation" } = options;
  const endpoint = new JsonRpcClient(http);
  const transport =
    mode === "simulation" ? open : (signal?: AbortSignal) => endpoint.attach((id) => open(signal, { sessionId: id }));
  const session = await createSession(transport, options.signal).catch(async (error: unknown) => {
    await endpoint.close();
    throw error;
  });
  const metadata = async () => (await http.get("/metadata")) as MetadataBody;
  const parts = { url: base, session, shape, tasks: createTaskClient(http), metadata, timeoutMs };
  return createToolClient(parts, {
    mode,
    ask: (...request) => endpoint.ask(...request),
    close: () => endpoint.close(),
  });
}

/** How tools are called outside of the episode, and what the client closes. */
interface ToolAccess {
  mode: "simulation" | "production";
  ask: AskRpc;
  close?(): Promise<void>;
}

export function createToolClient(parts: ClientParts, { mode, ask, close: closeAccess }: ToolAccess): McpToolClient {
  const { session, timeoutMs } = parts;
  const callTool =
    mode === "simulation"
      ? callByStep(session, timeoutMs)
      : (name: string, given: JsonObject, call: CallOptions) => callInProduction(ask, { name, given }, call);
  const listByStep = async (call: CallOptions): Promise<ToolInfo[]> => {
    const limits = { timeoutMs: call.timeoutMs ?? timeoutMs, signal: call.signal };
    const answer = await session.call({ type: "step", data: { type: "list_tools" } }, limits);
    return toToolInfos(parseResult(answer.data, session.extensions).observation["tools"]);
  };
  const close = async (): Promise<void> => {
    await session.close();
    await closeAccess?.();
  };
  return Object.assign(createEnvClient<GenericContract>({ ...parts, callTool }), {
    mode,
    listTools: (call: CallOptions = {}) => (mode === "simulation" ? listByStep(call) : listInProduction(ask, call)),
    callTool: (name: string, given: JsonObject = {}, call: CallOptions = {}) => callTool(name, given, call),
    close,
    [Symbol.asyncDispose]: close,
  });
}
