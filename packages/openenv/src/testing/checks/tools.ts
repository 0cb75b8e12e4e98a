import type { JsonObject } from "../../protocol/messages.js";
import type { ToolSummary } from "../../protocol/tools.js";
import { isObject } from "../../util/is-object.js";
import { onlyCallsTools } from "../sample-actions.js";
import type { Endpoints } from "./endpoints.js";

/** The tools that `POST /mcp` lists, if the action is a tool call; otherwise none. */
export async function askTools(action: JsonObject, ask: Endpoints["ask"]): Promise<ToolSummary[]> {
  if (!onlyCallsTools(action)) return [];
  return listTools(ask);
}

/** Lists the tools; servers use two names for the schema. @throws ConnectionError when `POST /mcp` does not answer. */
async function listTools(ask: Endpoints["ask"]): Promise<ToolSummary[]> {
  const { body } = await ask("/mcp", { jsonrpc: "2.0", id: 1, method: "tools/list", params: {} });
  const result = isObject(body) ? body["result"] : undefined;
  const tools = isObject(result) ? result["tools"] : undefined;
  return (Array.isArray(tools) ? tools : []).filter(isObject).map((tool) => {
    const schema = tool["input_schema"] ?? tool["inputSchema"];
    return {
      name: String(tool["name"]),
      description: String(tool["description"] ?? ""),
      input_schema: isObject(schema) ? schema : {},
    };
  });
}
