import { readFile } from "node:fs/promises";
import { ConfigError, canonicalSchema, isObject, offers, parseJson } from "openenv-ts/internal";
import type { PublishedTool, SchemaBody } from "openenv-ts/protocol";
import { download, isUrl } from "./download.js";
import { findEnvironment } from "./find-environment.js";
import { loadEnvironment } from "./load-environment.js";

/**
 * Reads schemas from the URL of a server, a file with the response of `GET /schema`, or the module of an environment.
 * When the response of a server has no tools, they are requested with `tools/list`.
 * @throws ConfigError when the source cannot be read or has no schemas.
 */
export async function readSchemas(source: string): Promise<SchemaBody> {
  if (isUrl(source)) {
    const schemas = parseSchemas(await download(source, "schema"), source);
    const tools = schemas.tools ?? (await listTools(source));
    return { ...schemas, ...(tools.length > 0 && { tools }) };
  }
  const file = await findEnvironment(source);
  if (!file.endsWith(".json")) return (await loadEnvironment(file)).contract.schemas();
  return parseSchemas(await readFile(file, "utf8"), source);
}

/** Returns an empty list when the server has no tools or no such route. */
async function listTools(url: string): Promise<PublishedTool[]> {
  const request = { jsonrpc: "2.0", id: 1, method: "tools/list", params: {} };
  const answer: unknown = await download(url, "mcp", request)
    .then((text) => parseJson(text))
    .catch(() => undefined);
  const result = isObject(answer) ? answer["result"] : undefined;
  const tools = isObject(result) && Array.isArray(result["tools"]) ? result["tools"] : [];
  return tools.filter(isObject).map(({ name, description, inputSchema, outputSchema }) => ({
    name: String(name),
    description: typeof description === "string" ? description : "",
    input_schema: isObject(inputSchema) ? inputSchema : { type: "object" },
    ...(isObject(outputSchema) && { output_schema: outputSchema }),
  }));
}

function parseSchemas(text: string, source: string): SchemaBody {
  let body: unknown;
  try {
    body = parseJson(text);
  } catch {
    throw new ConfigError(`${source} is not valid JSON; pass the response of GET /schema.`);
  }
  const {
    action,
    observation,
    state,
    tools,
    tool_observation,
    reset_observation = observation,
  } = (body ?? {}) as Partial<SchemaBody>;
  if (!isObject(action) || !isObject(observation) || !isObject(state) || !isObject(reset_observation)) {
    throw new ConfigError(`${source} has no action, observation or state; pass the response of GET /schema.`);
  }
  // A Python server whose action is a tool call publishes the observation of calls for resets too, although a reset
  // may return any observation.
  const isUnknown = offers.isCall(action) && canonicalSchema(reset_observation) === canonicalSchema(observation);
  const shown = isUnknown ? { type: "object", additionalProperties: true } : reset_observation;
  return {
    action,
    observation,
    state,
    reset_observation: shown,
    ...(Array.isArray(tools) && { tools }),
    ...(isObject(tool_observation) && { tool_observation }),
  };
}
