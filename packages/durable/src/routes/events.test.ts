import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import * as z from "zod";
import { defineContract, defineEnvironment, type StepContext } from "#core/index.js";
import { SESSION_TOKEN_HEADER } from "#core/protocol/http.js";
import type { RunningServer, ServeOptions } from "#core/server/types.js";
import { AS_OPERATOR, fetchAsOperator, WITH_OPERATOR } from "../../../../test-support/operator.js";
import { openAtBothWorkers, startCluster } from "../../../../test-support/servers/cluster.js";
import { useServers } from "../../../../test-support/servers/servers.js";

const servers = useServers();
const TOKEN = "a-token-of-the-client";
const asHolder = { [SESSION_TOKEN_HEADER]: TOKEN };

const contract = defineContract({
  name: "lottery_env",
  action: z.object({}),
  observation: z.object({ number: z.int() }),
});

function lottery({ saves = false, seeded = false } = {}) {
  const create = () => ({
    reset: () => ({ observation: { number: 0 } }),
    step: async (_action: object, { rng, now, record }: StepContext) => {
      now();
      await record("draw", () => "a secret");
      return { observation: { number: rng.int(1, 100) } };
    },
    ...(saves && { snapshot: () => 0, restore: () => {} }),
  });
  return { environment: defineEnvironment(contract, create, { seeded }) };
}

async function begin(server: RunningServer, { headers = {}, query = "?openenv=resume" } = {}) {
  const socket = await servers.open(server, `/ws${query}`, headers);
  const token_hash = createHash("sha256").update(TOKEN).digest("hex");
  const seq = (number: number) => (query === "" ? {} : { seq: number, ack: number - 1 });
  if (query !== "") await socket.ask({ type: "resume", data: { token_hash } });
  await socket.ask({ type: "reset", data: {}, ...seq(1) });
  await socket.ask({ type: "reset", data: { episode_id: "second" }, ...seq(2) });
  const stepped = await socket.ask({ type: "step", data: {}, ...seq(3) });
  const [session] = await server.sessions();
  return { socket, id: session?.session_id ?? "", stepped: stepped["data"] as Record<string, unknown> };
}

async function read(server: { url: string }, id: string, headers: Record<string, string> = {}) {
  const response = await fetch(`${server.url}/sessions/${id}/events`, { headers });
  return { status: response.status, body: (await response.json()) as { events: Record<string, unknown>[] } };
}

const start = (options: ServeOptions = {}, environment = lottery({ seeded: true })) =>
  servers.start({ ...WITH_OPERATOR, ...options }, environment);

test("an operator reads the events of the episode, with what the environment got from outside", async () => {
  const server = await start();
  const { id, stepped } = await begin(server);
  const { status, body } = await read(server, id, AS_OPERATOR);
  expect({ status, body }).toEqual({
    status: 200,
    body: {
      events: [
        expect.objectContaining({
          event: 2,
          type: "reset",
          request: { episode_id: "second" },
          recorded: { seed: expect.any(Number) },
        }),
        {
          event: 3,
          type: "step",
          request: {},
          answer: { type: "observation", data: expect.objectContaining({ reward: stepped["reward"] }) },
          recorded: { times: [expect.any(Number)], effects: [{ name: "draw", value: "a secret" }] },
        },
      ],
    },
  });
});

test("a holder of the token reads the requests, with the seed, and the answers", async () => {
  const server = await start();
  const { id } = await begin(server);
  const { body } = await read(server, id, AS_OPERATOR);
  const [reset, step] = body.events as [Record<string, unknown>, Record<string, unknown>];
  const seed = (reset["recorded"] as { seed: number }).seed;
  expect(await read(server, id, asHolder)).toEqual({
    status: 200,
    body: {
      events: [
        { ...reset, request: { episode_id: "second", seed }, recorded: undefined },
        { ...step, recorded: undefined },
      ],
    },
  });
});

test("no other client does", async () => {
  const server = await start();
  const { id } = await begin(server);
  for (const headers of [{}, { [SESSION_TOKEN_HEADER]: "another" }, { authorization: "Bearer another" }]) {
    expect(await read(server, id, headers)).toMatchObject({
      status: 401,
      body: { code: "UNAUTHORIZED", detail: expect.stringContaining("reading a session needs its token") },
    });
  }
  expect(await read(server, "none", AS_OPERATOR)).toMatchObject({ status: 404, body: { code: "SESSION_ERROR" } });
});

test("in production mode, the holder must be an orchestrator", async () => {
  const server = await start({ mode: "production", orchestratorToken: "drives" });
  const asOrchestrator = { authorization: "Bearer drives" };
  const { id } = await begin(server, { headers: asOrchestrator });
  expect(await read(server, id, asHolder)).toMatchObject({ status: 403, body: { code: "FORBIDDEN" } });
  expect((await read(server, id, { ...asHolder, ...asOrchestrator })).status).toBe(200);
});

test.each([
  ["snapshots", lottery({ seeded: true, saves: true }), {}, "its environment has snapshots"],
  ["no tier", lottery(), {}, "the environment declares neither snapshot() and restore() nor seeded: true"],
  ["no resume", lottery({ seeded: true }), { query: "" }, "its events are not kept"],
])("a session without events says why: %s", async (_what, environment, options, reason) => {
  const server = await start({}, environment);
  const { id } = await begin(server, options);
  expect(await read(server, id, AS_OPERATOR)).toMatchObject({
    status: 409,
    body: { code: "EVENT_NOT_KEPT", detail: `the session has no events to read: ${reason}` },
  });
});

test("the worker that has a session answers", { timeout: 120_000 }, async () => {
  await using cluster = await startCluster({ WORKERS: "2", MAX_CONCURRENT_ENVS: "16" });
  const opened = await openAtBothWorkers(cluster.url);
  let sessions: { session_id: string }[] = [];
  const workers = async () => {
    ({ sessions } = (await (await fetchAsOperator(`${cluster.url}/sessions`)).json()) as { sessions: typeof sessions });
    return new Set(sessions.map(({ session_id }) => session_id.slice(0, 2)));
  };
  // A worker that does not answer within a second is omitted.
  await expect.poll(workers).toEqual(new Set(["w0", "w1"]));
  for (const { session_id } of sessions) {
    expect(await read(cluster, session_id, AS_OPERATOR)).toMatchObject({
      status: 409,
      body: { code: "EVENT_NOT_KEPT" },
    });
  }
  await Promise.all(opened.map(({ env }) => env.close()));
});
