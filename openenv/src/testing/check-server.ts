import type { EnvClient } from "../client/env-client.js";
import type { ConnectOptions } from "../client/options.js";
import { connect } from "../connect.js";
import { rng } from "../env/rng.js";
import { RemoteError } from "../errors.js";
import type { JsonObject } from "../protocol/messages.js";
import { playEpisode } from "./episode.js";
import { firstDifference } from "./first-difference.js";
import { type CheckDefinition, type CheckReport, demand, runChecks } from "./report.js";
import { sampleValue } from "./sample.js";

export interface CheckServerOptions extends ConnectOptions {
  /** What is played; default: actions sampled from the server's action schema. */
  actions?: readonly JsonObject[];
  /** The environment's own reset options. */
  reset?: JsonObject;
}

const SAMPLES = 4;

/**
 * Checks a running server, of this package or of another, as a trainer would use it: over HTTP and `/ws`.
 * @throws ConnectionError when there is no OpenEnv server at the URL.
 * @example renderCheckReport(await checkServer("http://localhost:8000"));
 */
export async function checkServer(url: string, options: CheckServerOptions = {}): Promise<CheckReport> {
  const base = url.replace(/\/+$/, "");
  const schema = (await getJson(`${base}/schema`)).body;
  const random = rng(1);
  const action = (schema["action"] ?? {}) as JsonObject;
  const actions = options.actions ?? Array.from({ length: SAMPLES }, () => sampleValue(action, random) as JsonObject);
  return runChecks(base, checksOf({ base, schema, actions, options }));
}

interface Subject {
  base: string;
  schema: JsonObject;
  actions: readonly JsonObject[];
  options: CheckServerOptions;
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

async function getJson(url: string, init?: RequestInit): Promise<{ status: number; body: JsonObject }> {
  const response = await fetch(url, init);
  const text = await response.text();
  try {
    return { status: response.status, body: JSON.parse(text) as JsonObject };
  } catch {
    return { status: response.status, body: {} };
  }
}

async function health({ base }: Subject): Promise<void> {
  const { status, body } = await getJson(`${base}/health`);
  demand(status === 200 && body["status"] === "healthy", `/health answered ${status} ${JSON.stringify(body)}`);
}

async function metadata({ base }: Subject): Promise<void> {
  const { status, body } = await getJson(`${base}/metadata`);
  const fits = typeof body["name"] === "string" && typeof body["description"] === "string";
  demand(status === 200 && fits, `/metadata answered ${status} ${JSON.stringify(body).slice(0, 200)}`);
}

async function schemas({ schema }: Subject): Promise<void> {
  for (const part of ["action", "observation", "state"]) {
    demand(typeof schema[part] === "object" && schema[part] !== null, `/schema has no object "${part}"`);
  }
}

async function openapi({ base }: Subject): Promise<void> {
  const { status, body } = await getJson(`${base}/openapi.json`);
  const version = (body["info"] as JsonObject | undefined)?.["version"];
  demand(status === 200 && typeof version === "string", `/openapi.json answered ${status} without info.version`);
  const paths = Object.keys((body["paths"] as JsonObject | undefined) ?? {});
  const present = ["/reset", "/step", "/state"].filter((path) => paths.includes(path));
  demand(present.length === 0 || present.length === 3, `only ${present.join(", ")} of /reset, /step and /state exist`);
}

async function mcp({ base }: Subject): Promise<void> {
  const request = { method: "POST", headers: { "content-type": "application/json" }, body: "{}" };
  const { status, body } = await getJson(`${base}/mcp`, request);
  demand(status === 200 && body["jsonrpc"] === "2.0", `POST /mcp answered ${status} ${JSON.stringify(body)}`);
}

async function withSession(subject: Subject, use: (env: EnvClient) => Promise<void>): Promise<void> {
  await using env = await connect(subject.base, subject.options);
  await use(env);
}

async function episode(subject: Subject): Promise<void> {
  await withSession(subject, async (env) => {
    const played = await playEpisode(env, { ...subject.options.reset, seed: 1, episodeId: "checked" }, subject.actions);
    const { episode_id, step_count } = await env.state();
    demand(episode_id === "checked", `the state names the episode ${episode_id} instead of the given "checked"`);
    demand(step_count === played.length - 1, `step_count is ${step_count} after ${played.length - 1} steps`);
  });
}

async function badInput(subject: Subject): Promise<void> {
  await using env = await connect(subject.base, { ...subject.options, check: false });
  await env.reset({ ...subject.options.reset });
  const refusal = await env.step({ "no such field": true }).then(
    () => undefined,
    (error: unknown) => error,
  );
  demand(refusal instanceof RemoteError, `an action with an unknown field was answered with ${String(refusal)}`);
  demand(refusal.wireCode === "VALIDATION_ERROR", `it was answered with the code ${refusal.wireCode}`);
  await env.state();
}

async function isolated(subject: Subject): Promise<void> {
  await withSession(subject, (quiet) =>
    withSession(subject, async (busy) => {
      await quiet.reset({ ...subject.options.reset, seed: 1, episodeId: "quiet" });
      const before = await quiet.state();
      await playEpisode(busy, { ...subject.options.reset, seed: 2 }, subject.actions);
      const difference = firstDifference(before, await quiet.state());
      demand(difference === undefined, `another session changed ${difference}`);
    }),
  );
}
