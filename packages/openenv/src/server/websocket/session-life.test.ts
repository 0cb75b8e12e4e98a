import { describe, expect, onTestFinished, test, vi } from "vitest";
import { counterContract, defineCounter } from "../../../../../test-support/environments/counter.js";
import { useServers, waitFor } from "../../../../../test-support/servers/servers.js";
import { openTestSocket } from "../../../../../test-support/sockets/socket.js";
import { defineEnvironment } from "../../environment/define-environment.js";
import type { RunningServer } from "../types.js";

const { start, open } = useServers();

const RESET = { type: "reset", data: {} };
const step = (amount: number) => ({ type: "step", data: { amount } });

describe("capacity", () => {
  test("a rejected socket is accepted, gets an error with the counts, and is closed with 1000", async () => {
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

  test("a slot is free at once when its client disconnects during a step, and close is called once", async () => {
    const counter = defineCounter();
    const server = await start({ maxConcurrentEnvs: 1 }, counter);
    const first = await open(server);
    await first.ask(RESET);
    first.send(step(60));
    await waitFor(() => counter.log.begun === 1);
    first.ws.terminate();
    await waitFor(() => server.capacity().active_sessions === 0);
    const second = await open(server);
    expect(await second.ask(RESET)).toMatchObject({ type: "observation" });
    await waitFor(() => counter.log.closed === 1);
    expect(counter.log.aborted).toBe(1);
    expect(server.capacity().active_sessions).toBe(1);
  });

  test("two hundred sockets that open and close leave nothing behind", async () => {
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
  }, 60_000);
});

describe("peers that disappear", () => {
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

  test("continue when their socket closes, and accept only one socket at a time", async () => {
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

  test("time out without a socket, but not while they have one", async () => {
    vi.useFakeTimers({ toFake: ["Date", "performance", "setInterval", "clearInterval"] });
    onTestFinished(() => void vi.useRealTimers());
    const server = await start({ sessionTimeout: 20, pingIntervalMs: 600_000 });
    const attached = await open(server, `/ws?session_id=${await create(server)}`);
    await attached.ask(RESET);
    const idle = await create(server);
    vi.advanceTimersByTime(25_000);
    expect(server.capacity().active_sessions).toBe(1);
    const late = await open(server, `/ws?session_id=${idle}`);
    expect(await late.receive()).toMatchObject({ data: { code: "SESSION_ERROR" } });
    expect(await attached.ask(step(1))).toMatchObject({ type: "observation" });
  });
});

describe("an environment that fails when it is closed", () => {
  test("does no harm: its slot is free and the server continues", async () => {
    const { environment } = defineCounter();
    const create = async () => ({ ...(await environment.create()), close: () => Promise.reject(new Error("stuck")) });
    const server = await start(
      { maxConcurrentEnvs: 1 },
      { ...defineCounter(), environment: { ...environment, create } },
    );
    for (let i = 0; i < 3; i++) {
      const socket = await open(server);
      expect(await socket.ask(RESET)).toMatchObject({ type: "observation" });
      socket.ws.terminate();
      await waitFor(() => server.capacity().active_sessions === 0);
    }
  });
});

describe("a flood of frames", () => {
  test("is read only as fast as it can be answered, and is answered in order", async () => {
    const socket = await open(await start());
    await socket.ask(RESET);
    const count = 5_000;
    const pad = "x".repeat(1_000);
    socket.send(step(50));
    for (let i = 0; i < count; i++)
      socket.send({ type: "step", data: { amount: i % 2 === 0 ? 1 : -1, metadata: { pad } } });
    expect(await socket.receive()).toMatchObject({ data: { observation: { count: 50 } } });
    for (let i = 0; i < count; i++) {
      expect(await socket.receive()).toMatchObject({ data: { observation: { count: i % 2 === 0 ? 51 : 50 } } });
    }
    expect(await socket.ask({ type: "state" })).toMatchObject({ data: { step_count: count + 1 } });
  }, 60_000);
});

describe("shutdown", () => {
  test("answers calls in flight, closes with 1012, and rejects new connections", async () => {
    let begun = 0;
    let finish = (): void => {};
    const observe = (count: number) => ({ observation: { count } });
    const environment = defineEnvironment(counterContract, () => ({
      reset: () => observe(0),
      step: ({ amount }) => {
        begun++;
        return new Promise<ReturnType<typeof observe>>((resolve) => (finish = () => resolve(observe(amount))));
      },
    }));
    const server = await start({ graceMs: 20_000 }, { environment });
    const [busy, idle] = [await open(server), await open(server)];
    await Promise.all([busy.ask(RESET), idle.ask(RESET)]);
    busy.send(step(50));
    await waitFor(() => begun === 1);
    const closed = server.close();
    const health = await fetch(`${server.url}/health`);
    expect([health.status, await health.json()]).toEqual([503, { status: "unhealthy" }]);
    await expect(openTestSocket(`${server.url}/ws`)).rejects.toThrow(/503/);
    finish();
    expect(await busy.receive()).toMatchObject({ data: { observation: { count: 50 } } });
    expect((await busy.closed).code).toBe(1012);
    expect((await idle.closed).code).toBe(1012);
    await closed;
    await expect(fetch(`${server.url}/health`)).rejects.toThrow();
  });

  test("waits at most its grace period for a step that never ends", async () => {
    const counter = defineCounter();
    const server = await start({ graceMs: 50 }, counter);
    const socket = await open(server);
    await socket.ask(RESET);
    socket.send(step(60));
    await waitFor(() => counter.log.begun === 1);
    await server.close();
    expect(counter.log).toMatchObject({ aborted: 1, closed: 1 });
  });
});
