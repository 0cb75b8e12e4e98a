import { readFile } from "node:fs/promises";
import { ConfigError } from "../errors.js";
import type { SchemaBody } from "../protocol/http.js";
import { parseJson } from "../protocol/json.js";
import { isObject } from "../util/is-object.js";
import { findEnvironment } from "./find-environment.js";
import { loadEnvironment } from "./load-environment.js";

/**
 * Reads the schemas that a server's URL, a file with the answer of `GET /schema`, or an environment's module tells.
 * @throws ConfigError when it cannot be read or is no such thing.
 */
export async function readSchemas(source: string): Promise<SchemaBody> {
  if (/^[a-z]+:\/\//i.test(source)) return parseSchemas(await download(source), source);
  const file = findEnvironment(source);
  if (!file.endsWith(".json")) return (await loadEnvironment(file)).contract.schemas();
  return parseSchemas(await readFile(file, "utf8"), source);
}

const TIMEOUT_MS = 10_000;

async function download(source: string): Promise<string> {
  const url = schemaUrl(source);
  let response: Response;
  try {
    response = await fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS) });
    if (response.ok) return await response.text();
  } catch (error) {
    const reason = error instanceof Error && error.cause instanceof Error ? error.cause.message : String(error);
    throw new ConfigError(`No answer from ${url} (${reason}); check that the server runs.`);
  }
  throw new ConfigError(`${url} answered ${response.status}; give the base URL of an OpenEnv server.`);
}

function schemaUrl(source: string): URL {
  let url: URL;
  try {
    url = new URL(source.replace(/^ws/i, "http"));
  } catch {
    throw new ConfigError(`${source} is no URL; write http://host:port.`);
  }
  if (!/^https?:$/.test(url.protocol))
    throw new ConfigError(`${source} is no URL of a server; write http://host:port.`);
  url.pathname = url.pathname.replace(/\/(ws|schema)?\/?$/, "/schema");
  return url;
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
