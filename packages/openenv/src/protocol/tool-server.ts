import { type CallToolResult, ProtocolError, ProtocolErrorCode, Server, type Tool } from "@modelcontextprotocol/server";
import type { JsonObject } from "./messages.js";
import { reportProgress } from "./progress.js";
import { type AgentOutcome, ERROR_TYPE_META, FAULT_META, type ToolEntry, toolFault } from "./tools.js";

export interface ToolServerOptions {
  name: string;
  version: string;
  /** Instructions for the agent. */
  instructions: string | undefined;
  list(): Promise<Tool[]>;
  /** The signal aborts when the client cancels the call or disconnects. `traceparent`: that in `_meta` of the request. */
  call(name: string, given: JsonObject, at: { signal: AbortSignal; traceparent: unknown }): Promise<CallToolResult>;
  /** False if the client cannot receive progress during a call; default true. */
  reportsProgress?: boolean;
}

/** Creates a server of the MCP SDK that offers tools, not yet connected to a transport. */
export function createToolServer({
  name,
  version,
  instructions,
  list,
  call,
  reportsProgress = true,
}: ToolServerOptions): Server {
  const about = instructions === undefined ? {} : { instructions };
  const server = new Server({ name, version }, { capabilities: { tools: {} }, ...about });
  server.setRequestHandler("tools/list", async () => ({ tools: await list() }));
  server.setRequestHandler("tools/call", async ({ params }, { mcpReq }) => {
    const progressToken = params._meta?.progressToken;
    const at = { signal: mcpReq.signal, traceparent: params._meta?.["traceparent"] };
    const calling = call(params.name, params.arguments ?? {}, at);
    if (progressToken === undefined || !reportsProgress) return await calling;
    const send = (progress: number): void => {
      const params = { progressToken, progress };
      mcpReq.notify({ method: "notifications/progress", params }).catch(() => {});
    };
    const stop = reportProgress(send);
    // The first one makes HTTP answer with a stream, whose headers are sent at once.
    send(0);
    return await calling.finally(stop);
  });
  return server;
}

/** A tool in the format of MCP. */
export function toMcpTool({ name, title, description, inputSchema, outputSchema }: ToolEntry): Tool {
  return {
    name,
    ...(title === null ? {} : { title }),
    description,
    inputSchema: { ...inputSchema, type: "object" },
    ...(outputSchema === null ? {} : { outputSchema: { ...outputSchema, type: "object" } }),
  };
}

/**
 * The outcome of a call in the format of MCP: a failure that an agent can act on is a result.
 * @throws ProtocolError (−32602) for an unknown tool, (−32603) when a step failed through no fault of the agent.
 */
export function toCallToolResult({ result, error }: AgentOutcome): CallToolResult {
  if (error !== null) {
    const fault = toolFault(error);
    const { error_type, message } = error;
    if (error_type === "infrastructure" || error.code !== undefined) {
      throw new ProtocolError(ProtocolErrorCode.InternalError, message, { fault });
    }
    if (error_type === "tool_not_found") throw new ProtocolError(ProtocolErrorCode.InvalidParams, message, { fault });
    return {
      content: [{ type: "text", text: message }],
      isError: true,
      _meta: { [ERROR_TYPE_META]: error_type, [FAULT_META]: fault },
    };
  }
  const { content, structured_content, meta } = result;
  return {
    content: content.map(({ annotations: _, meta: _none, ...block }) => block),
    structuredContent: structured_content,
    ...(meta === null ? {} : { _meta: { ...meta } }),
  };
}
