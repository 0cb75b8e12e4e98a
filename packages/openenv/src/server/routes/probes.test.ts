import { expect, test } from "vitest";
import { defineCounter } from "../../../../../test-support/environments/counter.js";
import { fetchAsOperator, OPERATOR_TOKEN, WITH_OPERATOR } from "../../../../../test-support/operator.js";
import { useServers, waitFor } from "../../../../../test-support/servers/servers.js";
import type { RunningServer } from "../types.js";

const { start, open } = useServers();
const RESET = { type: "reset", data: {} };
const READY = [200, { status: "ready", reasons: [] }];
const notReady = (...reasons: string[]) => [503, { status: "not ready", reasons }];

async function ask({ url }: RunningServer, path = "/readyz"): Promise<[number, unknown]> {
  const response = await fetch(url + path);
  return [response.status, await response.json()];
}

async function postReset({ url }: RunningServer): Promise<string> {
  const response = await fetch(`${url}/reset`, { method: "POST" });
  await response.text();
  return response.headers.get("openenv-session") ?? "";
}

test("/readyz counts only sessions that cannot end to make room, and ?exclude=full leaves them out", async () => {
  const server = await start({ ...WITH_OPERATOR, maxConcurrentEnvs: 3 });
  for (let i = 0; i < 6; i++) await postReset(server);
  const { capacity } = (await (await fetchAsOperator(`${server.url}/sessions`)).json()) as { capacity: object };
  expect(capacity).toEqual({ active_sessions: 3, max_sessions: 3, available_slots: 3, is_at_capacity: false });
  expect(await ask(server)).toEqual(READY);
  for (let i = 0; i < 3; i++) await (await open(server)).ask(RESET);
  expect(await ask(server)).toEqual(notReady("full"));
  expect(await ask(server, "/readyz?exclude=full")).toEqual(READY);
  expect(server.capacity()).toMatchObject({ available_slots: 0, is_at_capacity: true });
});

test("/readyz counts an HTTP session from its second request on", async () => {
  const server = await start({ maxConcurrentEnvs: 1 });
  const session = await postReset(server);
  expect(await ask(server)).toEqual(READY);
  await fetch(`${server.url}/state`, { headers: { "openenv-session": session } });
  expect(await ask(server)).toEqual(notReady("full"));
});

test("/readyz is ready while there is a place in the queue", async () => {
  const server = await start({ maxConcurrentEnvs: 1, queueSize: 1 });
  await (await open(server)).ask(RESET);
  expect(await ask(server)).toEqual(READY);
  await open(server);
  await waitFor(() => server.capacity().is_at_capacity);
  await expect.poll(() => ask(server)).toEqual(notReady("full"));
});

test("/readyz says that the server is paused, and /livez stays alive", async () => {
  const server = await start(WITH_OPERATOR);
  const headers = { authorization: `Bearer ${OPERATOR_TOKEN}` };
  await fetch(`${server.url}/sessions/pause`, { method: "POST", headers });
  expect(await ask(server)).toEqual(notReady("paused"));
  expect(await ask(server, "/livez")).toEqual([200, { status: "alive" }]);
  await fetch(`${server.url}/sessions/resume`, { method: "POST", headers });
  expect(await ask(server)).toEqual(READY);
});

test("/readyz says that the server drains, and /livez stays alive until it has stopped", async () => {
  const counter = defineCounter();
  const server = await start({ drainMs: 20_000, graceMs: 5_000 }, counter);
  const socket = await open(server);
  await socket.ask(RESET);
  const drained = server.drain();
  expect(await ask(server)).toEqual(notReady("draining"));
  expect(await ask(server, "/livez")).toEqual([200, { status: "alive" }]);
  // The environment answers when its call is aborted.
  socket.send({ type: "step", data: { amount: 60 } });
  await waitFor(() => counter.log.begun === 1);
  const closed = server.close();
  expect(await ask(server)).toEqual(notReady("draining"));
  expect(await ask(server, "/livez")).toEqual([200, { status: "alive" }]);
  socket.ws.terminate();
  await Promise.all([drained, closed]);
});

test.each(["/livez", "/readyz"])("%s needs no token of a client", async (path) => {
  const server = await start({ clientToken: "letmein" });
  expect((await ask(server, path))[0]).toBe(200);
});
