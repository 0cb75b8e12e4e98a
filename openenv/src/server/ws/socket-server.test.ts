import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, describe, expect, test } from "vitest";
import { defineCounter } from "../../../test-support/counter.js";
import { openTestSocket, type TestSocket } from "../../../test-support/socket.js";
import { serve } from "../serve.js";
import type { RunningServer, ServeOptions } from "../types.js";

const cleanup: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of cleanup.splice(0).reverse()) await end();
});

async function start(options: ServeOptions = {}, counter = defineCounter()): Promise<RunningServer> {
  const server = await serve(counter.environment, { port: 0, logLevel: "silent", graceMs: 200, ...options });
  cleanup.push(() => server.close());
  return server;
}

async function open(server: RunningServer, path = "/ws", headers: Record<string, string> = {}): Promise<TestSocket> {
  const socket = await openTestSocket(server.url + path, { headers });
  cleanup.push(() => socket[Symbol.asyncDispose]());
  return socket;
}

async function waitFor(condition: () => boolean): Promise<void> {
  const deadline = Date.now() + 5_000;
  while (!condition()) {
    if (Date.now() > deadline) throw new Error("the condition did not come true in 5 s");
    await sleep(5);
  }
}

const RESET = { type: "reset", data: {} };
const step = (amount: number) => ({ type: "step", data: { amount } });

describe("an episode on /ws", () => {
  test("is reset, stepped, asked for its state and closed with 1000", async () => {
    const socket = await open(await start());
    expect(await socket.ask({ type: "reset", data: { episode_id: "e", start: 2 } })).toEqual({
      type: "observation",
      data: { observation: { metadata: {}, count: 2 }, reward: null, done: false },
    });
    expect(await socket.ask(step(8))).toMatchObject({ data: { observation: { count: 10 }, reward: 8, done: true } });
    expect(await socket.ask({ type: "state" })).toEqual({
      type: "state",
      data: { episode_id: "e", step_count: 1, total: 8 },
    });
    socket.send({ type: "close" });
    expect(await socket.closed).toEqual({ code: 1000, reason: "" });
  });

  test("gets an id from the server when the client gives none", async () => {
    const socket = await open(await start());
    await socket.ask(RESET);
    expect(await socket.ask({ type: "state" })).toMatchObject({
      data: { episode_id: expect.stringMatching(/^[\w-]{36}$/) },
    });
  });

  test("answers pipelined frames in order, also when one of them waits", async () => {
    const socket = await open(await start());
    socket.send(RESET, step(50), step(1), "{oops", { type: "state" }, step(2));
    const types = [];
    for (let i = 0; i < 6; i++) types.push((await socket.receive())["type"]);
    expect(types).toEqual(["observation", "observation", "observation", "error", "state", "observation"]);
  });

  test("answers every pipelined frame before a close takes effect", async () => {
    const socket = await open(await start());
    socket.send(RESET, step(50), { type: "close" });
    await socket.receive();
    expect(await socket.receive()).toMatchObject({ data: { observation: { count: 50 } } });
    expect((await socket.closed).code).toBe(1000);
  });

  test("must begin with a reset, unless the environment allows a step before", async () => {
    const strict = await open(await start());
    expect(await strict.ask(step(1))).toMatchObject({
      type: "error",
      data: { code: "EXECUTION_ERROR", message: expect.stringContaining("call reset first") },
    });
    expect(await strict.ask(RESET)).toMatchObject({ type: "observation" });
    const lax = await open(await start({}, defineCounter({ stepBeforeReset: "allow" })));
    expect(await lax.ask(step(1))).toMatchObject({ type: "observation" });
  });
});

describe("what an environment must not do", () => {
  test.each([
    ["throws in step", 13, /unlucky amount/],
    ["returns what its contract forbids", 70, /extra/],
  ])("%s: EXECUTION_ERROR, and the session lives on", async (_what, amount, message) => {
    const socket = await open(await start());
    await socket.ask(RESET);
    const answer = await socket.ask(step(amount));
    expect(answer).toMatchObject({
      type: "error",
      data: { code: "EXECUTION_ERROR", message: expect.stringMatching(message) },
    });
    expect(await socket.ask(step(1))).toMatchObject({ type: "observation" });
  });

  test("production tells only what the author meant to tell", async () => {
    const socket = await open(await start({ mode: "production" }));
    await socket.ask(RESET);
    expect(await socket.ask(step(13))).toMatchObject({
      data: { code: "EXECUTION_ERROR", message: expect.not.stringContaining("unlucky") },
    });
  });
});

describe("capacity", () => {
  test("a refusal is accepted, said with the counts, and closed with 1000", async () => {
    const server = await start({ maxConcurrentEnvs: 1 });
    const first = await open(server);
    await first.ask(RESET);
    const second = await open(server);
    expect(await second.receive()).toMatchObject({
      type: "error",
      data: { code: "CAPACITY_REACHED", active_sessions: 1, max_sessions: 1 },
    });
    expect((await second.closed).code).toBe(1000);
  });

  test("a slot is free at once when its client leaves in the middle of a step, and close is called once", async () => {
    const counter = defineCounter();
    const server = await start({ maxConcurrentEnvs: 1 }, counter);
    const first = await open(server);
    await first.ask(RESET);
    first.send(step(60));
    await sleep(20);
    first.ws.terminate();
    await waitFor(() => server.capacity().active_sessions === 0);
    const second = await open(server);
    expect(await second.ask(RESET)).toMatchObject({ type: "observation" });
    await waitFor(() => counter.log.closed === 1);
    expect(counter.log.aborted).toBe(1);
    expect(server.capacity().active_sessions).toBe(1);
  });

  test("two hundred sockets that come and go leave nothing behind", async () => {
    const counter = defineCounter();
    const server = await start({ maxConcurrentEnvs: 20 }, counter);
    for (let round = 0; round < 10; round++) {
      const sockets = await Promise.all(Array.from({ length: 20 }, () => openTestSocket(`${server.url}/ws`)));
      await Promise.all(sockets.map((socket) => socket.ask(RESET)));
      for (const [index, socket] of sockets.entries()) {
        if (index % 3 === 0) socket.send(step(60));
        if (index % 3 === 1) socket.send({ type: "close" });
        else socket.ws.terminate();
      }
      await Promise.all(sockets.map((socket) => socket.closed));
      await waitFor(() => server.capacity().active_sessions === 0);
    }
    await waitFor(() => counter.log.closed === 200);
    expect(counter.log).toMatchObject({ created: 200, closed: 200 });
  });
});

describe("peers that are gone without a word", () => {
  test("a peer that answers no pings loses its session after two of them; one that answers keeps it", async () => {
    const server = await start({ pingIntervalMs: 60 });
    const alive = await open(server);
    const silent = await open(server);
    await Promise.all([alive.ask(RESET), silent.ask(RESET)]);
    // Without automatic pongs the peer looks half-open.
    silent.ws.removeAllListeners("ping");
    (silent.ws as unknown as { _autoPong: boolean })._autoPong = false;
    await waitFor(() => server.capacity().active_sessions === 1);
    expect((await silent.closed).code).toBe(1011);
    expect(await alive.ask({ type: "state" })).toMatchObject({ type: "state" });
  });
});

describe("named sessions", () => {
  const create = async (server: RunningServer) => {
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "openenv/session/create" });
    const response = await fetch(`${server.url}/mcp`, { method: "POST", body });
    const { result } = (await response.json()) as { result: { session_id: string } };
    return result.session_id;
  };

  test("live on when their socket leaves, and take only one socket at a time", async () => {
    const server = await start();
    const path = `/ws?session_id=${await create(server)}`;
    const first = await open(server, path);
    await first.ask({ type: "reset", data: { start: 5 } });
    const second = await open(server, path);
    expect(await second.receive()).toMatchObject({ data: { code: "SESSION_ERROR" } });
    first.send({ type: "close" });
    await first.closed;
    const third = await open(server, path);
    expect(await third.ask(step(1))).toMatchObject({ data: { observation: { count: 6 } } });
    expect(server.capacity().active_sessions).toBe(1);
  });

  test("end after their time without a socket, but not while they have one", async () => {
    const server = await start({ sessionTimeout: 0.1 });
    const attached = await open(server, `/ws?session_id=${await create(server)}`);
    await attached.ask(RESET);
    const idle = await create(server);
    await waitFor(() => server.capacity().active_sessions === 1);
    const late = await open(server, `/ws?session_id=${idle}`);
    expect(await late.receive()).toMatchObject({ data: { code: "SESSION_ERROR" } });
    expect(await attached.ask(step(1))).toMatchObject({ type: "observation" });
  });
});

describe("extensions", () => {
  test("are confirmed in the first answer and say where the time went", async () => {
    const socket = await open(await start(), "/ws?openenv=timing,warnings,unheard-of");
    expect(await socket.ask(RESET)).toMatchObject({ openenv: { extensions: ["warnings", "timing"] } });
    const answer = await socket.ask(step(1));
    expect(answer).not.toHaveProperty("openenv");
    expect(answer).toMatchObject({
      data: {
        metadata: {
          openenv: { session: expect.any(String), step: 1, env_ms: expect.any(Number), queue_ms: expect.any(Number) },
        },
      },
    });
  });

  test("name a reset option that was dropped; a stock client is told nothing", async () => {
    const server = await start();
    const reset = { type: "reset", data: { nope: 1 } };
    const stock = await open(server);
    expect(await stock.ask(reset)).toMatchObject({ data: { observation: { metadata: {} } } });
    const ours = await open(server, "/ws?openenv=warnings");
    expect(await ours.ask(reset)).toMatchObject({
      data: { metadata: { openenv: { warnings: [expect.stringContaining('"nope"')] } } },
    });
  });
});

describe("foreign pages", () => {
  test.each([
    [{ origin: "https://example.org" }, "an origin that is not allowed"],
    [{ host: "rebound.example.org" }, "a Host that is no name of this machine"],
  ])("%o is refused before the upgrade", async (headers) => {
    const server = await start();
    await expect(openTestSocket(`${server.url}/ws`, { headers })).rejects.toThrow(/403/);
  });

  test("an allowed origin and the server's own are let in", async () => {
    const server = await start({ allowedOrigins: ["https://example.org"] });
    for (const origin of ["https://example.org", server.url]) {
      expect(await (await open(server, "/ws", { origin })).ask(RESET)).toMatchObject({ type: "observation" });
    }
  });
});

describe("shutdown", () => {
  test("answers what is in flight, closes with 1012, and refuses newcomers", async () => {
    const server = await start({ graceMs: 2_000 });
    const [busy, idle] = [await open(server), await open(server)];
    await Promise.all([busy.ask(RESET), idle.ask(RESET)]);
    busy.send(step(50));
    await sleep(10);
    const closed = server.close();
    const health = await fetch(`${server.url}/health`);
    expect([health.status, await health.json()]).toEqual([503, { status: "unhealthy" }]);
    await expect(openTestSocket(`${server.url}/ws`)).rejects.toThrow(/503/);
    expect(await busy.receive()).toMatchObject({ data: { observation: { count: 50 } } });
    expect((await busy.closed).code).toBe(1012);
    expect((await idle.closed).code).toBe(1012);
    await closed;
    await expect(fetch(`${server.url}/health`)).rejects.toThrow();
  });

  test("does not wait longer than its grace for a step that never ends", async () => {
    const counter = defineCounter();
    const server = await start({ graceMs: 50 }, counter);
    const socket = await open(server);
    await socket.ask(RESET);
    socket.send(step(60));
    await sleep(10);
    await server.close();
    expect(counter.log).toMatchObject({ aborted: 1, closed: 1 });
  });
});
