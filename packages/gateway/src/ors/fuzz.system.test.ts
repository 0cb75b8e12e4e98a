import { Agent, request } from "node:http";
import { rng } from "openenv-ts";
import { serve } from "openenv-ts/server";
import { expect, test } from "vitest";
import wordle from "../../../../envs/wordle/server/environment.js";
import { secretOf } from "../../../../envs/wordle/tasks.js";
import { orsClient } from "../../../../test-support/clients/ors-client.js";

const REQUESTS = 20_000;
const CLIENTS = 32;
const SESSIONS = 8;

const NAMES = ["list_environments", "version", "create_session", "create", "delete", "delete_session", "ping"];
const BELOW = [
  "splits",
  "tools",
  "tasks",
  "num_tasks",
  "task",
  "task_range",
  "prompt",
  "messages",
  "task_tools",
  "call",
];
const ENVIRONMENTS = ["wordle_env", "WORDLE_ENV", "other_env", "%00", "..", "sessions", "%E0%A4%A", ""];
const VALUES: unknown[] = [
  ...[
    null,
    true,
    0,
    -1,
    1.5,
    1e300,
    2 ** 53,
    "",
    "train",
    "no",
    "step",
    "\ud800",
    "\u0000",
    "x".repeat(5000),
    "[crane]",
  ],
  ...[
    [],
    {},
    [[]],
    { seed: 1 },
    { openenv: { split: "train", index: 0 } },
    { openenv: 1 },
    { message: 1 },
    { a: { b: [] } },
  ],
];
const KEYS = [
  "split",
  "index",
  "start",
  "stop",
  "name",
  "input",
  "task_id",
  "task_spec",
  "env_name",
  "toolset_name",
  "x",
];
const VALID: Record<string, object> = {
  create: { split: "train", index: 0 },
  call: { name: "step", input: { message: "[crane]" } },
  task: { split: "train", index: 0 },
  tasks: { split: "test" },
  num_tasks: { split: "train" },
  task_range: { split: "train", start: 0, stop: 3 },
};

interface Fuzzed {
  method: string;
  path: string;
  headers: Record<string, string>;
  body: string;
}

/** A request that is wrong in some part, which ends no session that it may name. */
function makeRequest(random: ReturnType<typeof rng>, ids: readonly string[]): Fuzzed {
  const endpoint = random.pick([...NAMES, ...BELOW]);
  const isBelow = BELOW.includes(endpoint);
  const path = isBelow && random.next() < 0.9 ? `/${random.pick(ENVIRONMENTS)}/${endpoint}` : `/${endpoint}`;
  const mutates = endpoint === "delete" || endpoint === "delete_session";
  const strange = [
    "",
    "x",
    "w9-aaaaaaaaaaaaaaaaaaaa",
    "a".repeat(5000),
    `made-by-${random.int(0, 50)}-the-fuzz`,
    "../../x",
  ];
  const id = mutates || random.next() < 0.4 ? random.pick(strange) : random.pick(ids);
  const headers: Record<string, string> = { "content-type": random.pick(["application/json", "text/plain", ""]) };
  if (random.next() < 0.9) headers["x-session-id"] = id;
  if (random.next() < 0.2) headers["x-secrets"] = random.pick(["", "no base64", "e30=", "bnVsbA=="]);
  const method =
    random.next() < 0.85 ? (isPost(endpoint) ? "POST" : "GET") : random.pick(["GET", "POST", "PUT", "DELETE"]);
  return { method, path, headers, body: isPost(endpoint) ? makeBody(random, endpoint) : "" };
}

function isPost(endpoint: string): boolean {
  return endpoint in VALID || NAMES.slice(2).includes(endpoint);
}

function makeBody(random: ReturnType<typeof rng>, endpoint: string): string {
  const value: Record<string, unknown> = { ...VALID[endpoint] };
  const kind = random.next();
  if (kind < 0.1)
    return random.pick(["", "{", "[]", "null", '"x"', "{}}", '{"split":"train","split":1}', `${"[".repeat(3000)}`]);
  // A valid call is a step: here every call differs from one in at least one member.
  for (let n = random.int(1, 3); n > 0; n--) {
    const key = random.pick(KEYS);
    if (random.next() < 0.3) delete value[key];
    else value[key] = random.pick(VALUES);
  }
  if (endpoint === "call" && value["name"] === "step") value["name"] = random.pick(["", "nothing", 1, null]);
  return JSON.stringify(value);
}

function send(url: string, agent: Agent, { method, path, headers, body }: Fuzzed): Promise<number> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url);
    // Node would send the body of a GET without its length.
    const framed = { ...headers, "content-length": Buffer.byteLength(body) };
    const onward = request({ hostname, port, agent, method, path, headers: framed }, (response) => {
      response.resume().once("end", () => resolve(response.statusCode ?? 0));
    });
    onward.once("error", reject);
    onward.end(body);
  });
}

test(`${REQUESTS} wrong requests get no status 500 and end no session`, { timeout: 240_000 }, async () => {
  await using server = await serve(wordle, { port: 0, logLevel: "silent", maxConcurrentEnvs: 200 });
  const ors = orsClient(server.url);
  const ids = await Promise.all(Array.from({ length: SESSIONS }, () => ors.open()));
  const agent = new Agent({ keepAlive: true, maxSockets: CLIENTS });
  const random = rng(20_251);
  const statuses = new Map<number, number>();
  let left = REQUESTS;
  const play = async (): Promise<void> => {
    while (left-- > 0) {
      const status = await send(server.url, agent, makeRequest(random, ids));
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, play));
  agent.destroy();
  const allowed = [200, 307, 308, 400, 404, 405, 410, 422];
  expect([...statuses.keys()].filter((status) => !allowed.includes(status))).toEqual([]);
  expect([...statuses.values()].reduce((sum, count) => sum + count)).toBe(REQUESTS);
  for (const status of [200, 308, 400, 404, 422]) expect(statuses.get(status) ?? 0).toBeGreaterThan(100);
  for (const id of ids) {
    const { result } = await ors.call(id, "step", { message: `[${secretOf("train", 0)}]` });
    expect(result).toMatchObject({ ok: true, output: { reward: 1, finished: true } });
  }
  const sessions = await server.sessions();
  const steps = sessions.filter(({ session_id }) => ids.includes(session_id)).map(({ step_count }) => step_count);
  expect(steps).toEqual(ids.map(() => 1));
});
