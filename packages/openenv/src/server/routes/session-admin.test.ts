import { expect, test } from "vitest";
import { OPERATOR_TOKEN, WITH_OPERATOR } from "../../../../../test-support/operator.js";
import { countWaiting, useServers } from "../../../../../test-support/servers/servers.js";
import type { RunningServer } from "../types.js";

const { start, open } = useServers();

const RESET = { type: "reset", data: {} };
const OBSERVATION = { type: "observation" };

async function ask({ url }: RunningServer, method: string, path: string, token = OPERATOR_TOKEN) {
  const response = await fetch(url + path, { method, headers: { authorization: `Bearer ${token}` } });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

async function ids(server: RunningServer): Promise<string[]> {
  const { body } = await ask(server, "GET", "/sessions");
  return (body["sessions"] as { session_id: string }[]).map(({ session_id }) => session_id);
}

test.each([
  ["DELETE", "/sessions/x"],
  ["POST", "/sessions/pause"],
  ["POST", "/sessions/resume"],
])("%s %s is for operators", async (method, path) => {
  const server = await start({ ...WITH_OPERATOR, orchestratorToken: "drives", clientToken: "asks" });
  for (const token of ["drives", "asks"]) expect((await ask(server, method, path, token)).status).toBe(401);
  expect((await ask(server, "GET", "/health")).status).toBe(200);
});

test("an operator ends any session, and one that is not there is 404", async () => {
  const server = await start({ ...WITH_OPERATOR, mode: "production", orchestratorToken: "drives" });
  const socket = await open(server, "/ws", { authorization: "Bearer drives" });
  await socket.ask(RESET);
  const [id = ""] = await ids(server);
  expect(await ask(server, "DELETE", `/sessions/${id}`)).toEqual({
    status: 200,
    body: { session_id: id, closed: true },
  });
  expect(await socket.closed).toEqual({ code: 4000, reason: "ended by an operator" });
  expect(server.capacity().active_sessions).toBe(0);
  expect(await ask(server, "DELETE", `/sessions/${id}`)).toMatchObject({
    status: 404,
    body: { code: "SESSION_ERROR" },
  });
});

test("a paused server opens no session at any door, keeps those that are open, and can be resumed", async () => {
  const server = await start(WITH_OPERATOR);
  const before = await open(server);
  await before.ask(RESET);
  expect(await ask(server, "POST", "/sessions/pause")).toEqual({ status: 200, body: { paused: true } });
  expect((await ask(server, "GET", "/health")).status).toBe(503);
  const refused = await open(server);
  expect(await refused.receive()).toMatchObject({ data: { code: "CAPACITY_REACHED", message: /paused/ } });
  expect((await refused.closed).code).toBe(1000);
  expect(await ask(server, "POST", "/reset")).toMatchObject({ status: 503, body: { code: "CAPACITY_REACHED" } });
  expect(await ask(server, "GET", "/state")).toMatchObject({ status: 503, body: { code: "CAPACITY_REACHED" } });
  expect(await before.ask(RESET)).toMatchObject(OBSERVATION);
  expect(await ask(server, "POST", "/sessions/resume")).toEqual({ status: 200, body: { paused: false } });
  expect((await ask(server, "GET", "/health")).status).toBe(200);
  expect(await (await open(server)).ask(RESET)).toMatchObject(OBSERVATION);
});

test("those that wait in the queue of a paused server keep their place", async () => {
  const server = await start({ ...WITH_OPERATOR, maxConcurrentEnvs: 1, queueSize: 1 });
  const first = await open(server);
  await first.ask(RESET);
  const waiting = await open(server);
  const answer = waiting.ask(RESET);
  await expect.poll(() => countWaiting(server.url)).toBe(1);
  await ask(server, "POST", "/sessions/pause");
  first.send({ type: "close" });
  await first.closed;
  expect(await countWaiting(server.url)).toBe(1);
  await ask(server, "POST", "/sessions/resume");
  expect(await answer).toMatchObject(OBSERVATION);
});
