import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import * as z from "zod";
import { defineContract, defineEnvironment } from "#core/index.js";
import { SESSION_TOKEN_HEADER } from "#core/protocol/http.js";
import type { RunningServer, ServeOptions } from "#core/server/types.js";
import { AS_OPERATOR, WITH_OPERATOR } from "../../../../test-support/operator.js";
import { useServers } from "../../../../test-support/servers/servers.js";

const servers = useServers();
const TOKEN = "a-token-of-the-client";

const contract = defineContract({
  name: "adder_env",
  action: z.object({ add: z.int() }),
  observation: z.object({ sum: z.int() }),
});
const adder = {
  environment: defineEnvironment(contract, () => {
    let sum = 0;
    return {
      reset: () => ({ observation: { sum: (sum = 0) } }),
      step: ({ add }) => ({ observation: { sum: (sum += add) } }),
      snapshot: () => sum,
      restore: (saved: number) => void (sum = saved),
    };
  }),
};

/** A resumable session in which 4 was added. */
async function begin(server: RunningServer, { token = TOKEN, path = "resume", headers = {} } = {}) {
  const socket = await servers.open(server, `/ws?openenv=${path}`, headers);
  const hash = createHash("sha256").update(token).digest("hex");
  const { data } = (await socket.ask({ type: "resume", data: { token_hash: hash } })) as {
    data: { session_id: string };
  };
  if (path === "resume") {
    await socket.ask({ type: "reset", data: {}, seq: 1, ack: 0 });
    await socket.ask({ type: "step", data: { add: 4 }, seq: 2, ack: 1 });
  }
  return { socket, id: data.session_id };
}

async function fork(
  server: RunningServer,
  id: string,
  headers: Record<string, string> = {},
  body: unknown = { count: 2 },
) {
  const response = await fetch(`${server.url}/sessions/${id}/fork`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

const start = (options: ServeOptions = {}) => servers.start({ ...WITH_OPERATOR, ...options }, adder);
const asHolder = { [SESSION_TOKEN_HEADER]: TOKEN };

test("the copies are resumed with their tokens, and count as sessions", async () => {
  const server = await start();
  const { id } = await begin(server);
  const { status, body } = await fork(server, id, asHolder);
  expect({ status, body }).toEqual({
    status: 200,
    body: {
      event: 2,
      sessions: Array(2).fill({ session_id: expect.any(String), token: expect.stringMatching(/^[\w-]{32}$/) }),
    },
  });
  expect(server.capacity().active_sessions).toBe(3);
  const copies = body["sessions"] as { session_id: string; token: string }[];
  for (const [nth, { session_id, token }] of copies.entries()) {
    const socket = await servers.open(server, `/ws?openenv=resume&session_id=${session_id}`);
    const resumed = await socket.ask({ type: "resume", data: { token } });
    expect(resumed).toMatchObject({ data: { recovered: true, last_seq: 0 } });
    const stepped = await socket.ask({ type: "step", data: { add: nth }, seq: 1, ack: 0 });
    expect(stepped).toMatchObject({ data: { observation: { sum: 4 + nth } } });
  }
});

test("an operator copies any session, also one that is not resumable", async () => {
  const server = await start();
  const socket = await servers.open(server);
  await socket.ask({ type: "reset", data: {} });
  const [session] = await server.sessions();
  expect(await fork(server, session?.session_id ?? "", AS_OPERATOR, { count: 1, rng: "split" })).toMatchObject({
    status: 200,
    body: { event: 1 },
  });
});

test("the socket of a page copies its own session; others do not have the frame", async () => {
  const server = await start();
  const page = await servers.open(server, "/ws?view=1");
  await page.ask({ type: "reset", data: {} });
  await page.ask({ type: "step", data: { add: 4 } });
  const forked = await page.ask({ type: "fork", data: { count: 1 } });
  expect(forked).toMatchObject({ type: "forked", data: { event: 2, sessions: [{ token: expect.any(String) }] } });
  const [{ session_id, token }] = (forked["data"] as { sessions: [{ session_id: string; token: string }] }).sessions;
  const copy = await servers.open(server, `/ws?openenv=resume&view=1&session_id=${session_id}`);
  await copy.ask({ type: "resume", data: { token } });
  const stepped = await copy.ask({ type: "step", data: { add: 1 }, seq: 1, ack: 0 });
  expect(stepped).toMatchObject({ event: 3, data: { observation: { sum: 5 } } });
  expect(await page.ask({ type: "fork", data: { count: 0 } })).toMatchObject({ data: { code: "VALIDATION_ERROR" } });
  const stock = await servers.open(server);
  expect(await stock.ask({ type: "fork", data: { count: 1 } })).toMatchObject({ data: { code: "UNKNOWN_TYPE" } });
  const guarded = await start({ mode: "production", orchestratorToken: "drives" });
  const other = await servers.open(guarded, "/ws?view=1");
  expect(await other.ask({ type: "fork", data: { count: 1 } })).toMatchObject({ data: { code: "FORBIDDEN" } });
});

test("no other client does", async () => {
  const server = await start({ clientToken: "asks" });
  const asClient = { authorization: "Bearer asks" };
  const { id } = await begin(server, { headers: asClient });
  await begin(server, { headers: asClient, token: "another" });
  const refusals = [
    {},
    { [SESSION_TOKEN_HEADER]: "" },
    { [SESSION_TOKEN_HEADER]: "another" },
    { [SESSION_TOKEN_HEADER]: "x".repeat(5000) },
  ];
  for (const headers of refusals) {
    expect(await fork(server, id, { ...asClient, ...headers })).toMatchObject({
      status: 401,
      body: { code: "UNAUTHORIZED", detail: expect.stringContaining("needs its token in the header") },
    });
  }
  // The token of a session does not replace that of a client.
  expect((await fork(server, id, asHolder)).status).toBe(401);
  expect((await fork(server, id, { ...asClient, ...asHolder })).status).toBe(200);
  expect(await fork(server, "none", AS_OPERATOR)).toMatchObject({ status: 404, body: { code: "SESSION_ERROR" } });
});

test("in production mode, the holder must be an orchestrator", async () => {
  const server = await start({ mode: "production", orchestratorToken: "drives" });
  const asOrchestrator = { authorization: "Bearer drives" };
  const { id } = await begin(server, { headers: asOrchestrator });
  expect(await fork(server, id, asHolder)).toMatchObject({ status: 403, body: { code: "FORBIDDEN" } });
  expect((await fork(server, id, { ...asHolder, ...asOrchestrator })).status).toBe(200);
});

test("a batch socket is not copied as a whole", async () => {
  const server = await start();
  const { id } = await begin(server, { path: "resume,batch" });
  expect(await fork(server, id, asHolder)).toMatchObject({
    status: 404,
    body: { detail: "the sessions of a batch socket are copied with fork_many" },
  });
});

test.each([
  [{}, "count"],
  [{ count: 1025 }, "count"],
  [{ count: 1, event: 0 }, "event"],
  [{ count: 1, rng: "other" }, "rng"],
  [{ count: 1, more: 1 }, "more"],
])("the body %j is invalid", async (wanted, field) => {
  const server = await start();
  const { id } = await begin(server);
  const { status, body } = await fork(server, id, asHolder, wanted);
  expect({ status, loc: (body["detail"] as { loc: unknown }[])[0]?.loc }).toEqual({
    status: 422,
    loc: ["body", field],
  });
});

test("copies that no client resumes make room for others", async () => {
  const server = await start({ maxConcurrentEnvs: 3, resumeGuarantee: 0.001 });
  const { id } = await begin(server);
  const { body } = await fork(server, id, asHolder);
  const [{ session_id, token }] = body["sessions"] as [{ session_id: string; token: string }];
  const reset = async () => (await servers.open(server)).ask({ type: "reset", data: {} });
  await expect.poll(reset).toMatchObject({ type: "observation" });
  const late = await servers.open(server, `/ws?openenv=resume&session_id=${session_id}`);
  expect(await late.ask({ type: "resume", data: { token } })).toMatchObject({ data: { recovered: false } });
});
