import { parseAddress } from "../client/address.js";
import type { EnvClient } from "../client/env-client.js";
import { createHttpClient, type HttpClient } from "../client/http.js";
import { type ConnectOptions, DEFAULT_TIMEOUT_MS, requestHeaders } from "../client/options.js";
import { connect } from "../connect.js";
import { rng } from "../env/rng.js";
import { sampleValue } from "../env/sample-value.js";
import { RemoteError } from "../errors.js";
import type { JsonObject } from "../protocol/messages.js";
import { isObject } from "../util/is-object.js";
import { playEpisode } from "./episode.js";
import { firstDifference } from "./first-difference.js";
import { type CheckDefinition, type CheckReport, demand, runChecks } from "./report.js";

export interface CheckServerOptions extends ConnectOptions {
  /** What is played; default: actions sampled from the server's action schema. */
  actions?: readonly JsonObject[];
  /** The environment's own reset options. */
  reset?: JsonObject;
}

const SAMPLES = 4;

/**
 * Checks a running server, of this package or of another, as a trainer would use it: over HTTP and `/ws`. `url` is what
 * `connect` takes.
 * @throws ConnectionError when there is no server at the URL.
 * @example renderCheckReport(await checkServer("http://localhost:8000"));
 */
export async function checkServer(url: string | URL, options: CheckServerOptions = {}): Promise<CheckReport> {
  const { actions, reset = {}, ...connecting } = options;
  const address = parseAddress(url);
  const http = createHttpClient(address, {
    headers: requestHeaders(connecting),
    timeoutMs: connecting.timeoutMs ?? DEFAULT_TIMEOUT_MS,
    signal: connecting.signal,
  });
  const schema = await askSchema(http);
  const random = rng(1);
  const sample = (): JsonObject =>
    sampleValue(isObject(schema["action"]) ? schema["action"] : {}, random) as JsonObject;
  const open = (more: ConnectOptions = {}): Promise<EnvClient> => connect(url, { ...connecting, ...more });
  const played = actions ?? Array.from({ length: SAMPLES }, sample);
  return runChecks(address.base, checksOf({ http, open, schema, actions: played, reset }));
}

interface Subject {
  http: HttpClient;
  open(more?: ConnectOptions): Promise<EnvClient>;
  schema: JsonObject;
  actions: readonly JsonObject[];
  reset: JsonObject;
}

function checksOf(subject: Subject): CheckDefinition[] {
  return [
    { id: "health", description: "GET /health is 200 and healthy", run: () => health(subject) },
    { id: "metadata", description: "GET /metadata has name and description", run: () => metadata(subject) },
    { id: "schema", description: "GET /schema has action, observation and state", run: () => schemas(subject) },
    {
      id: "openapi",
      description: "GET /openapi.json has a version and a consistent mode",
      run: () => openapi(subject),
    },
    { id: "mcp", description: "POST /mcp speaks JSON-RPC", run: () => mcp(subject) },
    { id: "episode", description: "an episode can be played on /ws", run: () => episode(subject) },
    {
      id: "bad_input",
      description: "an invalid action is refused and the session lives on",
      run: () => badInput(subject),
    },
    { id: "isolated", description: "one session does not change another", run: () => isolated(subject) },
  ];
}

/** What `GET /schema` tells; nothing when it is refused, which a check says later. */
async function askSchema(http: HttpClient): Promise<JsonObject> {
  try {
    const schema = await http.get("/schema");
    return isObject(schema) ? schema : {};
  } catch (error) {
    if (error instanceof RemoteError) return {};
    throw error;
  }
}

async function ask(answer: Promise<unknown>): Promise<JsonObject> {
  const body = await answer;
  demand(isObject(body), `the answer is no object: ${show(body)}`);
  return body;
}

async function health({ http }: Subject): Promise<void> {
  const body = await ask(http.get("/health"));
  demand(body["status"] === "healthy", `/health answered ${show(body)}`);
}

async function metadata({ http }: Subject): Promise<void> {
  const body = await ask(http.get("/metadata"));
  const fits = typeof body["name"] === "string" && typeof body["description"] === "string";
  demand(fits, `/metadata answered ${show(body)}`);
}

async function schemas({ schema }: Subject): Promise<void> {
  for (const part of ["action", "observation", "state"]) {
    demand(isObject(schema[part]), `GET /schema tells no object "${part}"`);
  }
}

async function openapi({ http }: Subject): Promise<void> {
  const { info, paths } = await ask(http.get("/openapi.json"));
  demand(isObject(info) && typeof info["version"] === "string", "/openapi.json has no info.version");
  const present = ["/reset", "/step", "/state"].filter((path) => isObject(paths) && path in paths);
  demand(present.length === 0 || present.length === 3, `only ${present.join(", ")} of /reset, /step and /state exist`);
}

async function mcp({ http }: Subject): Promise<void> {
  const body = await ask(http.post("/mcp", {}));
  demand(body["jsonrpc"] === "2.0", `POST /mcp answered ${show(body)}`);
}

function show(body: unknown): string {
  return JSON.stringify(body).slice(0, 200);
}

async function episode(subject: Subject): Promise<void> {
  await using env = await subject.open();
  const played = await playEpisode(env, { ...subject.reset, seed: 1, episodeId: "checked" }, subject.actions);
  const { episode_id, step_count } = await env.state();
  demand(episode_id === "checked", `the state names the episode ${episode_id} instead of the given "checked"`);
  demand(step_count === played.length - 1, `step_count is ${step_count} after ${played.length - 1} steps`);
}

async function badInput(subject: Subject): Promise<void> {
  // Without a check of its own the client sends what does not fit.
  await using env = await subject.open({ check: false });
  await env.reset({ ...subject.reset });
  const refusal = await env.step({ "no such field": true }).then(
    () => undefined,
    (error: unknown) => error,
  );
  demand(refusal instanceof RemoteError, `an action with an unknown field was answered with ${String(refusal)}`);
  demand(refusal.wireCode === "VALIDATION_ERROR", `it was answered with the code ${refusal.wireCode}`);
  const after: unknown = await env.state().catch((error: unknown) => error);
  demand(!(after instanceof Error), `after the refusal the session does not go on: ${after}`);
}

async function isolated(subject: Subject): Promise<void> {
  await using quiet = await subject.open();
  await using busy = await subject.open();
  await quiet.reset({ ...subject.reset, seed: 1, episodeId: "quiet" });
  const before = await quiet.state();
  await playEpisode(busy, { ...subject.reset, seed: 2 }, subject.actions);
  const difference = firstDifference(before, await quiet.state());
  demand(difference === undefined, `another session changed ${difference}`);
}
