import type { EnvClient } from "../client/env-client.js";
import type { CallOptions } from "../client/options.js";
import type { McpToolClient } from "../client/tools/mcp-client.js";
import type { ToolCallResult, ToolInfo } from "../client/tools/mcp-result.js";
import type { CallTool } from "../client/tools/tool-methods.js";
import { type ActionTool, toActionTools } from "../protocol/action-tools.js";
import type { JsonObject, SchemaBody } from "../protocol/index.js";
import type { ToolSummary } from "../protocol/tools.js";

/** The part of a client that an agent plays with: clients of `connect` and `connectTools` fit. */
export type AgentClient = Pick<EnvClient, "schemas" | "tools"> & {
  step(action: never, call?: CallOptions): ReturnType<EnvClient["step"]>;
} & Partial<Pick<McpToolClient, "listTools" | "callTool" | "mode">>;

/** The tools that an environment offers to an agent, and how they are called. */
interface AgentTools {
  tools: readonly ToolInfo[];
  call: CallTool;
}

export async function readTools(env: AgentClient): Promise<AgentTools> {
  const schemas = await env.schemas();
  const published = schemas.tools?.map(toToolInfo);
  // A Python server publishes only the action that calls a tool.
  const tools = published ?? (env.listTools && callsTools(schemas) ? await env.listTools() : undefined);
  if (tools === undefined) {
    const actions = toActionTools(schemas.action);
    return { tools: actions.map(({ summary }) => toToolInfo(summary)), call: callByAction(env, actions) };
  }
  return {
    tools,
    call: (name, given, call) => env.callTool?.(name, given, call) ?? callMethod(env, name)(given, call),
  };
}

function toToolInfo({ input_schema: inputSchema, ...tool }: ToolSummary): ToolInfo {
  return { ...tool, inputSchema };
}

function callMethod(
  { tools }: AgentClient,
  name: string,
): (given: JsonObject, call: object) => Promise<ToolCallResult> {
  const method = tools[name];
  if (method === undefined) throw new TypeError(`The client has no tool "${name}": open it with connectTools().`);
  return method;
}

function callsTools({ action }: SchemaBody): boolean {
  return "tool_name" in ((action["properties"] ?? {}) as JsonObject);
}

function callByAction(env: AgentClient, actions: readonly ActionTool[]): CallTool {
  return async (name, given, call) => {
    const action = { ...given, ...actions.find(({ summary }) => summary.name === name)?.fixed };
    const { observation, reward, done, metadata } = await env.step(action as never, call);
    const [only, ...others] = Object.values(observation);
    const text = typeof only === "string" && others.length === 0 ? only : JSON.stringify(observation);
    return { data: observation, text, reward, done, metadata };
  };
}
