import { readFile } from "node:fs/promises";
import { ConfigError } from "../errors.js";
import type { SchemaBody } from "../protocol/http.js";
import { parseJson } from "../protocol/json.js";
import { isObject } from "../util/is-object.js";
import { download, isUrl } from "./download.js";
import { findEnvironment } from "./find-environment.js";
import { loadEnvironment } from "./load-environment.js";

/**
 * Reads the schemas that a server's URL, a file with the answer of `GET /schema`, or an environment's module tells.
 * @throws ConfigError when it cannot be read or is no such thing.
 */
export async function readSchemas(source: string): Promise<SchemaBody> {
  if (isUrl(source)) return parseSchemas(await download(source, "schema"), source);
  const file = await findEnvironment(source);
  if (!file.endsWith(".json")) return (await loadEnvironment(file)).contract.schemas();
  return parseSchemas(await readFile(file, "utf8"), source);
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
  return { action, observation, state, reset_observation, ...(Array.isArray(tools) && { tools }) };
}
