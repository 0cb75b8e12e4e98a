import { ConfigError, type Contract, type PublishedContract, proxyContract, type TaskProvider } from "openenv-ts";
import { isObject, parseAddress } from "openenv-ts/internal";
import type { JsonObject, MetadataBody } from "openenv-ts/protocol";
import type { OpenSession } from "./open-session.js";
import { readRpc } from "./upstream-session.js";

/** What the upstreams serve. */
export interface UpstreamEnvironment {
  contract: Contract;
  metadata: MetadataBody;
  tasks: TaskProvider | undefined;
}

const LIMIT_MS = 30_000;

/**
 * Reads what an upstream serves: `/schema`, `/metadata`, its tools and its tasks. `url` returns the URL of one that is up.
 * @throws ConfigError when it is not an OpenEnv server.
 */
export async function describeUpstream({ socket }: OpenSession, url: () => string): Promise<UpstreamEnvironment> {
  const [schemas, metadata] = await Promise.all([getObject(url(), "/schema"), getObject(url(), "/metadata")]);
  for (const part of ["action", "observation", "state"]) {
    if (!isObject(schemas[part]))
      throw new ConfigError(`${url()}/schema has no schema named "${part}": is it an OpenEnv server?`);
  }
  const about = metadata as unknown as MetadataBody;
  const { name, version, description } = about;
  const listed = readRpc(await socket.ask('{"type":"mcp","data":{"jsonrpc":"2.0","id":0,"method":"tools/list"}}'));
  const tools = isObject(listed.result) && Array.isArray(listed.result["tools"]) ? listed.result["tools"] : [];
  const published = { name, schemas, tools: tools.filter(isObject).map(toPublished) } as unknown as PublishedContract;
  const more = { ...(version && { version }), ...(description && { description }) };
  return {
    contract: proxyContract({ ...published, ...more }),
    metadata: about,
    tasks: await findTasks(url),
  };
}

/** FastMCP and the Python package spell the input schema in different ways. */
function toPublished({ name, description, inputSchema, input_schema = inputSchema }: JsonObject): JsonObject {
  return { name, description: description ?? "", input_schema };
}

/** The Task API of the upstream, if it has tasks. */
async function findTasks(url: () => string): Promise<TaskProvider | undefined> {
  const [name] = (await request(url(), "/list_environments").catch(() => [])) as string[];
  if (name === undefined) return undefined;
  const path = (route: string): string => `/${encodeURIComponent(name)}/${route}`;
  const splits = await request(url(), path("splits")).catch(() => undefined);
  if (!Array.isArray(splits) || splits.length === 0) return undefined;
  const ask = async (route: string, body: object, member: string): Promise<never> =>
    ((await request(url(), path(route), body)) as JsonObject)[member] as never;
  return {
    splits: () => request(url(), path("splits")) as Promise<never>,
    list: (split) => ask("tasks", { split }, "tasks"),
    count: (split) => ask("num_tasks", { split }, "num_tasks"),
    get: (split, index) => ask("task", { split, index }, "task"),
    range: (split, start, stop) => ask("task_range", { split, start: start ?? null, stop: stop ?? null }, "tasks"),
  };
}

async function getObject(url: string, path: string): Promise<JsonObject> {
  const body = await request(url, path);
  if (!isObject(body)) throw new ConfigError(`${url}${path} is not a JSON object: is it an OpenEnv server?`);
  return body;
}

/** @throws RangeError for status 400, which the Task API has for a task that does not exist, ConfigError for another failure. */
async function request(url: string, path: string, body?: object): Promise<unknown> {
  const init = body && { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
  const response = await fetch(parseAddress(url).http(path), { ...init, signal: AbortSignal.timeout(LIMIT_MS) });
  const text = await response.text();
  if (response.ok) return JSON.parse(text);
  if (response.status === 400) throw new RangeError(text.slice(0, 200));
  throw new ConfigError(`${url}${path} answered with status ${response.status}: is it an OpenEnv server?`);
}
