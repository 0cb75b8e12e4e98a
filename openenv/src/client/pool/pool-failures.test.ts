import { describe, expect, test } from "vitest";
import { counterContract } from "../../../test-support/counter.js";
import { startGateway } from "../../../test-support/gateway.js";
import { type Peer, startScriptedServer } from "../../../test-support/scripted-server.js";
import { useServers } from "../../../test-support/servers.js";
import { defineEnvironment } from "../../env/environment.js";
import { connectPool, type PoolResult } from "../index.js";

const { start } = useServers();

type Results = (PoolResult<typeof counterContract> | PoolResult | null)[];
const outcomes = (results: Results) => results.map((result) => result?.outcome ?? null);
const errors = (results: Results) => results.map((result) => (result && "error" in result ? result.error : null));
const add = (size: number, amount = 1) => Array.from({ length: size }, () => ({ amount }));

/** A server that refuses every session, or never says whether it has room. */
const startFull = (answers: boolean) =>
  startScriptedServer(async (peer: Peer) => {
    for (;;) {
      const { data } = (await peer.receive()) as { data: { count: number } };
      const refused = { type: "error", data: { code: "CAPACITY_REACHED", message: "No room." } };
      const items = Array.from({ length: data.count }, () => refused);
      if (answers) peer.send({ type: "many", data: { items }, openenv: { extensions: ["batch"] } });
    }
  });

describe("closing a pool", () => {
  test("ends the openings under way and those that wait, and says so", async () => {
    await using server = await startFull(false);
    const pool = await connectPool(server.url, { size: 4, concurrency: 1, check: false });
    const resetting = pool.reset();
    await expect.poll(() => server.opened).toBe(1);
    await pool.close();
    for (const error of errors(await resetting)) {
      expect(error).toMatchObject({ code: "CLIENT_CLOSED", message: expect.stringContaining("connectPool()") });
    }
    expect(server.opened).toBe(1);
  });

  test("does not wait for a server that says nothing about itself", async () => {
    const server = await start();
    await using gateway = await startGateway(server, "refuses");
    const pool = await connectPool([gateway.url, server.url], counterContract, { size: 1 });
    gateway.turn("is silent");
    const resetting = pool.reset();
    await expect.poll(() => gateway.held.size).toBe(1);
    await pool.close();
    expect(errors(await resetting)).toMatchObject([{ code: "CLIENT_CLOSED" }]);
    expect(server.capacity().active_sessions).toBe(0);
  });

  test.each([false, true])("tells a call that it cut off (own sockets: %s)", async (ownSockets) => {
    const server = await start();
    const pool = await connectPool(server.url, counterContract, { size: 2, ownSockets });
    await pool.reset();
    const stepping = pool.step(add(2, 60));
    await pool.close();
    for (const error of errors(await stepping)) {
      expect(error).toMatchObject({ code: "CLIENT_CLOSED", message: expect.stringContaining("connectPool()") });
    }
  });
});

describe("a session that was lost", () => {
  test("is told as reopened with the first reset that succeeds, and has no place before", async () => {
    const server = await start();
    await using pool = await connectPool(server.url, counterContract, { size: 1 });
    expect(await pool.reset({ start: -1 })).toMatchObject([{ outcome: "env_error", reopened: false }]);
    expect(await pool.reset()).toMatchObject([{ outcome: "ok", reopened: false }]);
    expect(outcomes(await pool.step(add(1, 60), { timeoutMs: 50 }))).toEqual(["lost"]);
    expect(pool.places()).toEqual([null]);
    expect(await pool.reset({ start: -1 })).toMatchObject([{ outcome: "env_error", reopened: false }]);
    expect(await pool.reset()).toMatchObject([{ outcome: "ok", reopened: true }]);
    expect(await pool.reset()).toMatchObject([{ outcome: "ok", reopened: false }]);
    expect(pool.places()).toEqual([server.url]);
  });

  test("takes the others of its socket along, unless each has its own", async () => {
    const server = await start();
    for (const ownSockets of [false, true]) {
      await using pool = await connectPool(server.url, counterContract, { size: 3, ownSockets });
      await pool.reset();
      await pool.step([{ amount: 60 }, null, null], { timeoutMs: 50 });
      const told = ownSockets ? ["lost", "ok", "ok"] : ["lost", "lost", "lost"];
      expect(outcomes(await pool.step(add(3)))).toEqual(told);
    }
  });
});

describe("of several servers", () => {
  test.each(["refuses", "answers 503", "is silent"] as const)(
    "one that %s costs no session",
    async (manner) => {
      const server = await start();
      await using gateway = await startGateway(server, manner);
      const options = { size: 4, connectTimeoutMs: 5_000 };
      await using pool = await connectPool([gateway.url, server.url], counterContract, options);
      expect(outcomes(await pool.reset())).toEqual(Array(4).fill("ok"));
      expect(pool.places()).toEqual(Array(4).fill(server.url));
      gateway.turn("passes");
      await using later = await connectPool([gateway.url, server.url], counterContract, options);
      await later.reset();
      expect(new Set(later.places())).toEqual(new Set([gateway.url, server.url]));
    },
    60_000,
  );

  test("none that can be used is an error, and so are one that never will be and an abort", async () => {
    const server = await start();
    await using gateway = await startGateway(server, "answers 503");
    await expect(connectPool(gateway.url, counterContract, { size: 1 })).rejects.toMatchObject({
      code: "REQUEST_FAILED",
    });
    gateway.turn("answers 401");
    await expect(connectPool([gateway.url, server.url], counterContract, { size: 1 })).rejects.toMatchObject({
      code: "REQUEST_FAILED",
      details: { status: 401 },
    });
    const signal = AbortSignal.abort();
    const opening = connectPool([gateway.url, server.url], counterContract, { size: 1, signal });
    await expect(opening).rejects.toMatchObject({ code: "ABORTED" });
  });

  test.each([true, false])("an environment that cannot be made is not tried on each (own sockets: %s)", async (own) => {
    let made = 0;
    const environment = defineEnvironment(counterContract, () => {
      made++;
      throw new Error("the map is missing");
    });
    const urls = await Promise.all([1, 2, 3].map(async () => (await start({}, { environment })).url));
    await using pool = await connectPool(urls, counterContract, { size: 3, ownSockets: own });
    expect(errors(await pool.reset())).toMatchObject(Array(3).fill({ code: "FACTORY_ERROR" }));
    expect(made).toBe(3);
  });

  test("one that comes later is asked about itself for all calls: aborting one of them aborts no other", async () => {
    const server = await start();
    await using gateway = await startGateway(server, "refuses");
    await using pool = await connectPool([gateway.url, server.url], counterContract, { size: 3 });
    gateway.turn("is silent");
    const aborting = new AbortController();
    const first = pool.reset([{}, null, null], { signal: aborting.signal });
    const second = pool.reset([null, {}, {}]);
    await expect.poll(() => gateway.held.size).toBe(1);
    aborting.abort();
    expect(errors(await first)).toMatchObject([{ code: "ABORTED" }, null, null]);
    gateway.turn("passes");
    expect(outcomes(await second)).toEqual([null, "ok", "ok"]);
    expect(pool.places().sort()).toEqual([gateway.url, server.url, null].sort());
  });

  test.each([true, false])("one without room is asked once (it answers: %s)", async (answers) => {
    await using full = await startFull(answers);
    const server = await start();
    await using pool = await connectPool([full.url, server.url], { size: 2, check: false });
    expect(outcomes(await pool.reset({}, { timeoutMs: 4_000 }))).toEqual(["ok", "ok"]);
    expect(full.opened).toBe(1);
    expect(pool.places()).toEqual([server.url, server.url]);
  });
});

describe("a resetWith that throws", () => {
  const failing = () => {
    const state = { fails: false };
    const resetWith = (index: number) => {
      if (state.fails && index === 0) throw new Error("no seed is left");
      return { start: 5 };
    };
    return { state, resetWith };
  };

  test("takes nothing of what was played, and the next step fails before anything is sent", async () => {
    const server = await start();
    const { state, resetWith } = failing();
    const options = { size: 2, autoreset: "same-step", resetWith } as const;
    await using pool = await connectPool(server.url, counterContract, options);
    await pool.reset([{ start: 9 }, {}]);
    state.fails = true;
    expect(await pool.step(add(2))).toMatchObject([
      { outcome: "terminated", observation: { count: 10 }, next: null },
      { outcome: "ok", observation: { count: 1 } },
    ]);
    await expect(pool.step(add(2))).rejects.toThrow("no seed is left");
    state.fails = false;
    expect(await pool.step(add(2))).toMatchObject([
      { began: true, observation: { count: 5 } },
      { began: false, observation: { count: 2 } },
    ]);
  });

  test("fails asCompleted once, and the other results are still to be had", async () => {
    const server = await start();
    const { state, resetWith } = failing();
    const options = { size: 2, autoreset: "next-step", ownSockets: true, resetWith } as const;
    await using pool = await connectPool(server.url, counterContract, options);
    await pool.reset([{ start: 9 }, {}]);
    await pool.step(add(2));
    state.fails = true;
    const first = pool.asCompleted(add(2))[Symbol.asyncIterator]();
    await expect(first.next()).rejects.toThrow("no seed is left");
    state.fails = false;
    const left: unknown[] = [];
    for await (const result of pool.asCompleted([{ amount: 1 }, null])) left.push([result.index, result.observation]);
    expect(left.sort()).toEqual([
      [0, { count: 5 }],
      [1, { count: 2 }],
    ]);
  });
});

test("two that take completed results share them", async () => {
  const server = await start();
  await using pool = await connectPool(server.url, counterContract, { size: 4, ownSockets: true });
  await pool.reset();
  const taken: number[] = [];
  const take = async (actions: ({ amount: number } | null)[]): Promise<void> => {
    for await (const { index } of pool.asCompleted(actions)) taken.push(index);
  };
  await Promise.all([take(add(4, 50)), take(Array(4).fill(null))]);
  expect(taken.sort()).toEqual([0, 1, 2, 3]);
});
