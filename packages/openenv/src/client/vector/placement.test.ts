import { describe, expect, test } from "vitest";
import { counterContract, defineCounter } from "../../../../../test-support/environments/counter.js";
import { type ScriptedPeer, startScriptedServer } from "../../../../../test-support/other-servers/scripted-server.js";
import { startGateway } from "../../../../../test-support/proxies/gateway.js";
import { useServers } from "../../../../../test-support/servers/servers.js";
import { defineEnvironment } from "../../environment/define-environment.js";
import { connectVector, type VectorResult } from "../index.js";

const { start } = useServers();

type Results = (VectorResult<typeof counterContract> | VectorResult | null)[];
const outcomes = (results: Results) => results.map((result) => result?.outcome ?? null);
const errors = (results: Results) => results.map((result) => (result && "error" in result ? result.error : null));
const add = (size: number, amount = 1) => Array.from({ length: size }, () => ({ amount }));

/** A server that rejects every session, or does not answer. */
const startFull = (answers: boolean) =>
  startScriptedServer(async (peer: ScriptedPeer) => {
    for (;;) {
      const { data } = (await peer.receive()) as { data: { count: number } };
      const refused = { type: "error", data: { code: "CAPACITY_REACHED", message: "No room." } };
      const items = Array.from({ length: data.count }, () => refused);
      if (answers) peer.send({ type: "many", data: { items }, openenv: { extensions: ["batch"] } });
    }
  });

describe("closing a vector environment", () => {
  test("cancels the sessions that are opening or waiting to be opened", async () => {
    await using server = await startFull(false);
    const envs = await connectVector(server.url, { size: 4, concurrency: 1, check: false });
    const resetting = envs.reset();
    await expect.poll(() => server.opened).toBe(1);
    await envs.close();
    for (const error of errors(await resetting)) {
      expect(error).toMatchObject({ code: "CLIENT_CLOSED", message: expect.stringContaining("connectVector()") });
    }
    expect(server.opened).toBe(1);
  });

  test("does not wait for a server that does not answer", async () => {
    const server = await start();
    await using gateway = await startGateway(server, "refuses");
    const envs = await connectVector([gateway.url, server.url], counterContract, { size: 1 });
    gateway.turn("is silent");
    const resetting = envs.reset();
    await expect.poll(() => gateway.held.size).toBe(1);
    await envs.close();
    expect(errors(await resetting)).toMatchObject([{ code: "CLIENT_CLOSED" }]);
    expect(server.capacity().active_sessions).toBe(0);
  });

  test.each([false, true])("fails the calls in progress with CLIENT_CLOSED (own sockets: %s)", async (ownSockets) => {
    const server = await start();
    const envs = await connectVector(server.url, counterContract, { size: 2, ownSockets });
    await envs.reset();
    const stepping = envs.step(add(2, 60));
    await envs.close();
    for (const error of errors(await stepping)) {
      expect(error).toMatchObject({ code: "CLIENT_CLOSED", message: expect.stringContaining("connectVector()") });
    }
  });
});

describe("a session that was lost", () => {
  test("is reported as reopened by the first reset that succeeds, and has no server before", async () => {
    const server = await start();
    await using envs = await connectVector(server.url, counterContract, { size: 1 });
    expect(await envs.reset({ start: -1 })).toMatchObject([{ outcome: "env_error", reopened: false }]);
    expect(await envs.reset()).toMatchObject([{ outcome: "ok", reopened: false }]);
    expect(outcomes(await envs.step(add(1, 60), { timeoutMs: 50 }))).toEqual(["lost"]);
    expect(envs.places()).toEqual([null]);
    expect(await envs.reset({ start: -1 })).toMatchObject([{ outcome: "env_error", reopened: false }]);
    expect(await envs.reset()).toMatchObject([{ outcome: "ok", reopened: true }]);
    expect(await envs.reset()).toMatchObject([{ outcome: "ok", reopened: false }]);
    expect(envs.places()).toEqual([server.url]);
  });

  test("takes the other sessions of its socket with it, unless each has its own socket", async () => {
    const server = await start();
    for (const ownSockets of [false, true]) {
      await using envs = await connectVector(server.url, counterContract, { size: 3, ownSockets });
      await envs.reset();
      await envs.step([{ amount: 60 }, null, null], { timeoutMs: 50 });
      const expected = ownSockets ? ["lost", "ok", "ok"] : ["lost", "lost", "lost"];
      expect(outcomes(await envs.step(add(3)))).toEqual(expected);
    }
  });
});

test("a reopened session does not step before a reset succeeds, even if the server allows it", async () => {
  const server = await start({}, defineCounter({ stepBeforeReset: "allow" }));
  await using envs = await connectVector(server.url, counterContract, { size: 1 });
  await envs.reset();
  await envs.step(add(1, 60), { timeoutMs: 50 });
  expect(outcomes(await envs.reset({ start: -1 }))).toEqual(["env_error"]);
  expect(errors(await envs.step(add(1)))).toMatchObject([{ code: "SESSION_LOST" }]);
  expect(await envs.reset()).toMatchObject([{ outcome: "ok", reopened: true }]);
});

describe("of several servers", () => {
  test.each(["refuses", "answers 503", "is silent"] as const)(
    "one that %s does not cost a session",
    async (manner) => {
      const server = await start();
      await using gateway = await startGateway(server, manner);
      const options = { size: 4, connectTimeoutMs: 5_000 };
      await using envs = await connectVector([gateway.url, server.url], counterContract, options);
      expect(outcomes(await envs.reset())).toEqual(Array(4).fill("ok"));
      expect(envs.places()).toEqual(Array(4).fill(server.url));
      gateway.turn("passes");
      await using later = await connectVector([gateway.url, server.url], counterContract, options);
      await later.reset();
      expect(new Set(later.places())).toEqual(new Set([gateway.url, server.url]));
    },
    60_000,
  );

  test("connecting fails if none can be used, if one can never be used, and on an abort", async () => {
    const server = await start();
    await using gateway = await startGateway(server, "answers 503");
    await expect(connectVector(gateway.url, counterContract, { size: 1 })).rejects.toMatchObject({
      code: "REQUEST_FAILED",
    });
    gateway.turn("answers 401");
    await expect(connectVector([gateway.url, server.url], counterContract, { size: 1 })).rejects.toMatchObject({
      code: "REQUEST_FAILED",
      details: { status: 401 },
    });
    const signal = AbortSignal.abort();
    const opening = connectVector([gateway.url, server.url], counterContract, { size: 1, signal });
    await expect(opening).rejects.toMatchObject({ code: "ABORTED" });
  });

  test.each([true, false])("a failing factory is not tried on every server (own sockets: %s)", async (own) => {
    let made = 0;
    const environment = defineEnvironment(counterContract, () => {
      made++;
      throw new Error("the map is missing");
    });
    const urls = await Promise.all([1, 2, 3].map(async () => (await start({}, { environment })).url));
    await using envs = await connectVector(urls, counterContract, { size: 3, ownSockets: own });
    expect(errors(await envs.reset())).toMatchObject(Array(3).fill({ code: "FACTORY_ERROR" }));
    expect(made).toBe(3);
  });

  test("one is checked once for all calls: aborting one of them does not abort the others", async () => {
    const server = await start();
    await using gateway = await startGateway(server, "refuses");
    await using envs = await connectVector([gateway.url, server.url], counterContract, { size: 3 });
    gateway.turn("is silent");
    const aborting = new AbortController();
    const first = envs.reset([{}, null, null], { signal: aborting.signal });
    const second = envs.reset([null, {}, {}]);
    await expect.poll(() => gateway.held.size).toBe(1);
    aborting.abort();
    expect(errors(await first)).toMatchObject([{ code: "ABORTED" }, null, null]);
    gateway.turn("passes");
    expect(outcomes(await second)).toEqual([null, "ok", "ok"]);
    expect(envs.places().sort()).toEqual([gateway.url, server.url, null].sort());
  });

  test.each([true, false])("a full server is tried once (it answers: %s)", async (answers) => {
    await using full = await startFull(answers);
    const server = await start();
    await using envs = await connectVector([full.url, server.url], { size: 2, check: false });
    expect(outcomes(await envs.reset({}, { timeoutMs: 5_000 }))).toEqual(["ok", "ok"]);
    expect(full.opened).toBe(1);
    expect(envs.places()).toEqual([server.url, server.url]);
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

  test("does not lose the results of the step, and the next step fails before anything is sent", async () => {
    const server = await start();
    const { state, resetWith } = failing();
    const options = { size: 2, autoreset: "same-step", resetWith } as const;
    await using envs = await connectVector(server.url, counterContract, options);
    await envs.reset([{ start: 9 }, {}]);
    state.fails = true;
    expect(await envs.step(add(2))).toMatchObject([
      { outcome: "terminated", observation: { count: 10 }, next: null },
      { outcome: "ok", observation: { count: 1 } },
    ]);
    await expect(envs.step(add(2))).rejects.toThrow("no seed is left");
    state.fails = false;
    expect(await envs.step(add(2))).toMatchObject([
      { began: true, observation: { count: 5 } },
      { began: false, observation: { count: 2 } },
    ]);
  });

  test("fails asCompleted once, and the other results still arrive", async () => {
    const server = await start();
    const { state, resetWith } = failing();
    const options = { size: 2, autoreset: "next-step", ownSockets: true, resetWith } as const;
    await using envs = await connectVector(server.url, counterContract, options);
    await envs.reset([{ start: 9 }, {}]);
    await envs.step(add(2));
    state.fails = true;
    const first = envs.asCompleted(add(2))[Symbol.asyncIterator]();
    await expect(first.next()).rejects.toThrow("no seed is left");
    state.fails = false;
    const left: unknown[] = [];
    for await (const result of envs.asCompleted([{ amount: 1 }, null])) left.push([result.index, result.observation]);
    expect(left.sort()).toEqual([
      [0, { count: 5 }],
      [1, { count: 2 }],
    ]);
  });
});

test("two loops over asCompleted share the results", async () => {
  const server = await start();
  await using envs = await connectVector(server.url, counterContract, { size: 4, ownSockets: true });
  await envs.reset();
  const taken: number[] = [];
  const take = async (actions: ({ amount: number } | null)[]): Promise<void> => {
    for await (const { index } of envs.asCompleted(actions)) taken.push(index);
  };
  await Promise.all([take(add(4, 50)), take(Array(4).fill(null))]);
  expect(taken.sort()).toEqual([0, 1, 2, 3]);
});
