/** `SESSION_IDLE_TIMEOUT`: a session whose client keeps its connection but uses it no more gives way to another client. */
import { afterEach, expect, test, vi } from "vitest";
import { useServers } from "../../../../../test-support/servers/servers.js";
import { openResumable, returnTo, stepFrame } from "../../../../../test-support/sockets/resumable.js";
import type { TestSocket } from "../../../../../test-support/sockets/socket.js";
import type { RunningServer, ServeOptions } from "../../server/types.js";

const { start, open } = useServers();
const RESET = { type: "reset", data: {} };
const add = (amount: number) => ({ type: "step", data: { amount } });
const OBSERVATION = { type: "observation" };
const REFUSED = { data: { code: "CAPACITY_REACHED" } };
const REASON = "was idle for 60 s and was closed to make room for another client";

afterEach(() => {
  vi.restoreAllMocks();
});

/** Advances the server's clock. */
function pass(ms: number): void {
  vi.restoreAllMocks();
  const real = performance.now.bind(performance);
  vi.spyOn(performance, "now").mockImplementation(() => real() + ms);
}

const serve = (options: ServeOptions = {}) => start({ maxConcurrentEnvs: 1, sessionIdleTimeout: 60, ...options });

async function play(server: RunningServer, path?: string): Promise<TestSocket> {
  const socket = await open(server, path);
  await socket.ask(RESET);
  expect(await socket.ask(add(1))).toMatchObject(OBSERVATION);
  return socket;
}

const isRefused = async (server: RunningServer) => expect(await (await open(server)).receive()).toMatchObject(REFUSED);

test("a session on a socket ends with 4000 and its reason once another client needs its slot", async () => {
  const server = await serve();
  const idle = await play(server);
  pass(59_000);
  await isRefused(server);
  // A request begins the time anew.
  await idle.ask(add(1));
  pass(100_000);
  await isRefused(server);
  pass(200_000);
  expect(server.capacity()).toMatchObject({ active_sessions: 1, available_slots: 1 });
  expect(await (await open(server)).ask(RESET)).toMatchObject(OBSERVATION);
  expect(await idle.closed).toEqual({ code: 4000, reason: REASON });
});

test("it keeps its slot during a call, however long that takes", async () => {
  const server = await serve();
  const busy = await play(server);
  busy.send(add(60));
  await expect.poll(async () => (await server.sessions())[0]?.last_activity_at).toBeGreaterThan(0);
  await expect.poll(() => server.capacity().active_sessions).toBe(1);
  pass(200_000);
  await isRefused(server);
});

test("without the setting it keeps its slot for ever", async () => {
  const server = await start({ maxConcurrentEnvs: 1 });
  await play(server);
  pass(100_000_000);
  await isRefused(server);
});

test("the session that was idle longest gives way first, and the others keep their slots", async () => {
  const server = await serve({ maxConcurrentEnvs: 2 });
  const [first, second] = [await play(server), await play(server)];
  await first.ask(add(1));
  pass(100_000);
  expect(await (await open(server)).ask(RESET)).toMatchObject(OBSERVATION);
  expect(await second.closed).toMatchObject({ code: 4000 });
  expect(await first.ask(add(1))).toMatchObject({ data: { observation: { count: 3 } } });
});

test("a client in the queue gets the slot", async () => {
  const server = await serve({ queueSize: 1, sessionIdleTimeout: 0.4 });
  const idle = await play(server);
  const waiting = await open(server);
  expect(await waiting.ask(RESET)).toMatchObject(OBSERVATION);
  expect(await idle.closed).toMatchObject({ code: 4000, reason: expect.stringContaining("idle for 0.4 s") });
});

test("on a batch socket the idle session ends alone, and the next request for it gets the reason", async () => {
  const server = await serve({ maxConcurrentEnvs: 2 });
  const socket = await open(server, "/ws?openenv=batch");
  const items = (...sessions: number[]) => ({ items: sessions.map((session) => ({ session, data: { amount: 1 } })) });
  const ask = async (type: string, data: object) =>
    ((await socket.ask({ type, data }))["data"] as { items: object[] }).items;
  await ask("open_many", { count: 2 });
  await ask("reset_many", { items: [{ session: 0 }, { session: 1 }] });
  pass(100_000);
  await ask("step_many", items(1));
  expect(await (await open(server)).ask(RESET)).toMatchObject(OBSERVATION);
  expect(await ask("step_many", items(0, 1))).toMatchObject([
    { type: "error", data: { code: "SESSION_ERROR", message: expect.stringContaining(REASON) } },
    OBSERVATION,
  ]);
  await isRefused(server);
});

test("a resumable session is detached, and keeps its slot for RESUME_GUARANTEE", async () => {
  const server = await serve({ resumeGuarantee: 30 });
  const { socket, id } = await openResumable(open, server);
  await socket.ask(stepFrame(1, 2, 1));
  pass(100_000);
  await isRefused(server);
  expect(await socket.closed).toEqual({ code: 1013, reason: REASON });
  await isRefused(server);
  const [next, resumed] = await returnTo(open, server, [id]);
  expect(resumed).toMatchObject({ recovered: true });
  expect(await next.ask(stepFrame(1, 3, 2))).toMatchObject({ data: { observation: { count: 2 } } });
  pass(200_000);
  await isRefused(server);
  await next.closed;
  pass(231_000);
  expect(await (await open(server)).ask(RESET)).toMatchObject(OBSERVATION);
});

test("a session by address is detached, and its client comes back to it", async () => {
  const server = await serve();
  const path = "/session/run-7_worker-3_5f1c9a/ws";
  const socket = await play(server, path);
  pass(100_000);
  await isRefused(server);
  expect(await socket.closed).toEqual({ code: 1013, reason: REASON });
  expect(await (await open(server, path)).ask(add(1))).toMatchObject({ data: { observation: { count: 2 } } });
});

test("a resumable batch socket is detached once all its sessions are idle", async () => {
  const server = await serve({ maxConcurrentEnvs: 2 });
  const socket = await open(server, "/ws?openenv=batch,resume");
  await socket.ask({ type: "resume", data: { token_hash: "0".repeat(64) } });
  await socket.ask({ type: "open_many", data: { count: 2 }, seq: 1, ack: 0 });
  await socket.ask({ type: "reset_many", data: { items: [{ session: 0 }, { session: 1 }] }, seq: 2, ack: 1 });
  pass(100_000);
  const one = { items: [{ session: 1, data: { amount: 1 } }] };
  await socket.ask({ type: "step_many", data: one, seq: 3, ack: 2 });
  await isRefused(server);
  const both = { items: [{ session: 0, data: { amount: 1 } }, ...one.items] };
  expect(await socket.ask({ type: "step_many", data: both, seq: 4, ack: 3 })).toMatchObject({
    data: { items: [OBSERVATION, OBSERVATION] },
  });
  pass(200_000);
  await isRefused(server);
  expect(await socket.closed).toMatchObject({ code: 1013 });
});
