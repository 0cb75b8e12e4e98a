import type { CallToolResult, Server, Tool } from "@modelcontextprotocol/server";
import type { McpToolClient } from "../client/tools/mcp-client.js";
import { ToolCallError, type ToolCallResult } from "../client/tools/mcp-result.js";
import type { JsonObject } from "../protocol/messages.js";
import { isObject } from "../util/is-object.js";

export interface McpServerOptions {
  /** Instructions for the agent; default: the description of the environment. */
  instructions?: string | undefined;
}

/** The part of a client that is used. */
type ToolSource = Pick<McpToolClient, "mode" | "metadata" | "listTools" | "callTool">;

/**
 * Offers the tools of a client's session to any MCP agent: returns a server of the MCP SDK to connect to a transport.
 * In simulation, a result has `openenv/reward` and `openenv/done` in its `_meta`. The caller still closes the client.
 * @throws RemoteError, ConnectionError when the metadata of the environment cannot be read.
 * @example
 * await using client = await connectTools("http://localhost:8000", { mode: "production" });
 * const server = await toMcpServer(client);
 * await server.connect(new StdioServerTransport());
 */
export async function toMcpServer(client: ToolSource, options: McpServerOptions = {}): Promise<Server> {
  const { createToolServer, toCallToolResult } = await import("../protocol/tool-server.js");
  const { name, version, description } = await client.metadata();
  let listed: Promise<Tool[]> | undefined;
  return createToolServer({
    name,
    version: version ?? "0",
    instructions: options.instructions ?? description,
    // The tools of a session do not change, and in simulation listing them is a step.
    list: () =>
      (listed ??= list(client).catch((error: unknown) => {
        listed = undefined;
        throw error;
      })),
    call: async (tool, given, { signal }) => {
      try {
        // Aborting a step would lose the session.
        const limits = client.mode === "production" ? { signal } : {};
        return render(await client.callTool(tool, given, limits), client.mode);
      } catch (error) {
        if (!(error instanceof ToolCallError)) throw error;
        const { errorType, message } = error;
        const failed = toCallToolResult({ result: null, error: { error_type: errorType, message } });
        return { ...failed, _meta: { ...failed._meta, ...earned(error, client.mode) } };
      }
    },
  });
}

async function list(client: ToolSource): Promise<Tool[]> {
  const tools = await client.listTools();
  return tools.map(({ name, description, inputSchema }) => ({
    name,
    description,
    inputSchema: { ...inputSchema, type: "object" },
  }));
}

function render(result: ToolCallResult, mode: ToolSource["mode"]): CallToolResult {
  const { data, text } = result;
  const content = [{ type: "text" as const, text }];
  const _meta = earned(result, mode);
  if (isObject(data)) return { content, structuredContent: data, _meta };
  return { content, structuredContent: { result: data }, _meta: { fastmcp: { wrap_result: true }, ..._meta } };
}

function earned({ reward, done }: Pick<ToolCallResult, "reward" | "done">, mode: ToolSource["mode"]): JsonObject {
  return mode === "simulation" ? { "openenv/reward": reward, "openenv/done": done } : {};
}
