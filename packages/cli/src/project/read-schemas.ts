import { readFile } from "node:fs/promises";
import { ConfigError, canonicalSchema, isObject, parseJson } from "openenv-ts/internal";
import type { PublishedTool, SchemaBody } from "openenv-ts/protocol";
import { download, isUrl } from "./download.js";
import { findEnvironment } from "./find-environment.js";
import { loadEnvironment } from "./load-environment.js";
import { isCall } from "./offered-actions.js";

/**
 * Reads the schemas that a server's URL, a file with the answer of `GET /schema`, or an environment's module tells. A
 * server that does not show its tools there is asked for them with `tools/list`.
 * @throws ConfigError when it cannot be read or is no such thing.
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

/** None where the server answers no list of tools: one without tools, or without this route. */
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
    throw new ConfigError(`${source} is not JSON; give what GET /schema of a server answers.`);
  }
  const { action, observation, state, tools, reset_observation = observation } = (body ?? {}) as Partial<SchemaBody>;
  if (!isObject(action) || !isObject(observation) || !isObject(state) || !isObject(reset_observation)) {
    throw new ConfigError(`${source} lacks action, observation or state; give what GET /schema of a server answers.`);
  }
  // A Python server whose action is a call of a tool publishes what calls show for resets too, which show anything.
  const isUnknown = isCall(action) && canonicalSchema(reset_observation) === canonicalSchema(observation);
  const shown = isUnknown ? { type: "object", additionalProperties: true } : reset_observation;
  return { action, observation, state, reset_observation: shown, ...(Array.isArray(tools) && { tools }) };
}
