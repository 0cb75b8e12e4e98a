import { once } from "node:events";
import { processProvider } from "@openenv-ts/providers";
import { describe, expect, test, vi } from "vitest";
import { counterModule, createProject, startCommand } from "../../../../../test-support/commands/command-line.js";
import { counterContract } from "../../../../../test-support/environments/counter.js";
import { useServers } from "../../../../../test-support/servers/servers.js";
import { defineEnvironment } from "../../index.js";
import { connectVector, type VectorResult } from "../index.js";

// Starting a process takes seconds on a machine with other work.
vi.setConfig({ testTimeout: 120_000 });

const { start } = useServers();

type Result = VectorResult<typeof counterContract> | null;
const outcomes = (results: (VectorResult | Result)[]) => results.map((result) => result?.outcome ?? null);
const counts = (results: Result[]) => results.map((result) => result?.observation?.count ?? null);
const add = (size: number, amount = 1) => Array.from({ length: size }, () => ({ amount }));
const held = (servers: { capacity(): { active_sessions: number } }[]) =>
  servers.map((server) => server.capacity().active_sessions);

describe.each([false, true])("a vector environment with a socket for each session: %s", (ownSockets) => {
  test("spreads its sessions over the servers and calls them together, each with its own outcome", async () => {
    const servers = [await start(), await start(), await start()];
    const urls = servers.map(({ url }) => url);
    await using envs = await connectVector(urls, counterContract, { size: 7, ownSockets });
    expect(counts(await envs.reset({ start: 2 }))).toEqual([2, 2, 2, 2, 2, 2, 2]);
    expect(held(servers).sort()).toEqual([2, 2, 3]);
    expect(new Set(envs.places())).toEqual(new Set(urls));
    const results = await envs.step([...add(4), { amount: 13 }, null, { amount: 9 }]);
    expect(outcomes(results)).toEqual(["ok", "ok", "ok", "ok", "env_error", null, "terminated"]);
    if (!ownSockets) {
      const details = { session: expect.any(Number), step: 1 };
      expect(results[4]).toMatchObject({ error: { details, fault: "environment" } });
    }
    expect(results[3]).toMatchObject({ index: 3, began: false, reopened: false, next: null, reward: 1 });
    expect((await envs.state()).map((state) => "total" in state && state.total)).toEqual([1, 1, 1, 1, 0, 0, 9]);
    await envs.close();
    await expect.poll(() => held(servers)).toEqual([0, 0, 0]);
    expect(outcomes(await envs.step(add(7)))).toEqual(Array(7).fill("lost"));
  });

  test("opens sessions that one server rejects on another; those that no server has room for fail alone", async () => {
    const servers = [await start({ maxConcurrentEnvs: 1 }), await start({ maxConcurrentEnvs: 3 })];
    await using envs = await connectVector(
      servers.map(({ url }) => url),
      counterContract,
      { size: 5, ownSockets },
    );
    const results = await envs.reset();
    expect(outcomes(results).sort()).toEqual(["env_error", "ok", "ok", "ok", "ok"]);
    expect(results.find((result) => result?.outcome === "env_error")).toMatchObject({
      error: { code: "CAPACITY_REACHED" },
    });
    expect(held(servers)).toEqual([1, 3]);
  });

  test.each(["disabled", "next-step", "same-step"] as const)(
    "reports the sessions of a killed server as lost once, then as reopened on another server (%s)",
    async (autoreset) => {
      await using project = await createProject({ "environment.ts": SLOW });
      await using dying = startCommand(["serve", "environment.ts", "--port", "0"], { cwd: project.dir });
      const [, url = ""] = await dying.printed(/at (http:\S+)/);
      const urls = [url, (await start()).url];
      await using envs = await connectVector(urls, { size: 4, autoreset, ownSockets });
      await envs.reset();
      const there = envs.places().map((place) => place === urls[0]);
      expect(there.filter(Boolean)).toHaveLength(2);
      const stepping = envs.step(there.map((dies) => ({ amount: dies ? 60 : 1 })));
      await dying.printed(/hanging/);
      dying.process.kill("SIGKILL");
      const stepped = await stepping;
      expect(outcomes(stepped)).toEqual(there.map((lost) => (lost ? "lost" : "ok")));
      const again = autoreset === "disabled" ? await envs.reset() : await envs.step(add(4));
      const reported = autoreset === "same-step" ? stepped : again;
      expect(reported.map((result) => result?.reopened)).toEqual(there);
      if (autoreset === "same-step") expect(reported.map((one) => one?.next?.outcome === "ok")).toEqual(there);
      expect(outcomes(again)).toEqual(Array(4).fill("ok"));
      expect(envs.places()).toEqual(Array(4).fill(urls[1]));
      expect((await envs.step(add(4))).map((result) => result?.reopened)).toEqual(Array(4).fill(false));
    },
  );
});

const SLOW = counterModule().replace(
  "step: ({ amount }) => (",
  'step: ({ amount }) => amount === 60 ? (console.log("hanging"), new Promise(() => {})) : (',
);

describe("autoreset", () => {
  test("disabled does not start an episode after one has ended", async () => {
    const server = await start();
    await using envs = await connectVector(server.url, counterContract, { size: 2 });
    await envs.reset([{ start: 9 }, {}]);
    expect(outcomes(await envs.step(add(2)))).toEqual(["terminated", "ok"]);
    expect(counts(await envs.step(add(2)))).toEqual([11, 2]);
  });

  test("next-step starts the next episode with the next step, and ignores its action", async () => {
    const server = await start();
    const resetWith = (index: number) => ({ start: 5 + index });
    const options = { size: 2, autoreset: "next-step", resetWith } as const;
    await using envs = await connectVector(server.url, counterContract, options);
    await envs.reset([{ start: 9 }, {}]);
    const ended = await envs.step(add(2));
    expect(ended[0]).toMatchObject({ outcome: "terminated", observation: { count: 10 }, reward: 1, next: null });
    const next = await envs.step(add(2));
    expect(next[0]).toMatchObject({ began: true, observation: { count: 5 }, reward: null, reopened: false });
    expect(counts(await envs.step(add(2)))).toEqual([6, 3]);
  });

  test("same-step returns the end of one episode and the start of the next in one result", async () => {
    const server = await start();
    await using envs = await connectVector(server.url, counterContract, { size: 2, autoreset: "same-step" });
    await envs.reset([{ start: 9 }, {}]);
    const [ended, other] = await envs.step(add(2));
    expect(ended).toMatchObject({ outcome: "terminated", observation: { count: 10 }, reward: 1 });
    expect(ended?.next).toMatchObject({ outcome: "ok", observation: { count: 0 } });
    expect(other?.next).toBeNull();
    expect(counts(await envs.step(add(2)))).toEqual([1, 2]);
  });

  test.each(["next-step", "same-step"] as const)(
    "a step before the first reset starts an episode (%s)",
    async (autoreset) => {
      const server = await start();
      const resetWith = (index: number) => ({ start: 5 + index });
      await using envs = await connectVector(server.url, counterContract, { size: 2, autoreset, resetWith });
      const first = await envs.step(add(2));
      const begun = { outcome: "ok", began: true, reopened: false, reward: null };
      expect(first).toMatchObject([begun, begun]);
      expect(counts(first)).toEqual([5, 6]);
      expect(counts(await envs.step(add(2)))).toEqual([6, 7]);
    },
  );

  test("an error of the environment does not end the episode", async () => {
    const server = await start();
    await using envs = await connectVector(server.url, counterContract, { size: 1, autoreset: "next-step" });
    await envs.reset({ start: 3 });
    expect(outcomes(await envs.step([{ amount: 13 }]))).toEqual(["env_error"]);
    expect(counts(await envs.step(add(1)))).toEqual([4]);
  });
});

describe("asCompleted", () => {
  test("yields the first results that arrive; the next call yields the others", async () => {
    let release = () => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    const environment = defineEnvironment(counterContract, () => ({
      reset: () => ({ observation: {} }),
      step: async ({ amount }, { signal }) => {
        if (amount === 50) await released;
        if (amount === 60) await once(signal, "abort");
        return { observation: {}, reward: 0, done: false };
      },
    }));
    const server = await start({}, { environment });
    await using envs = await connectVector(server.url, counterContract, { size: 4, ownSockets: true });
    await envs.reset();
    const first: number[] = [];
    const actions = [{ amount: 50 }, { amount: 1 }, { amount: 60 }, { amount: 2 }];
    for await (const result of envs.asCompleted(actions, { count: 2 })) first.push(result.index);
    expect(first.sort()).toEqual([1, 3]);
    await expect(envs.step([{ amount: 1 }, null, null, null])).rejects.toThrow("Session 0 has not answered yet");
    release();
    const second: number[] = [];
    for await (const result of envs.asCompleted([null, { amount: 1 }, null, null], { count: 2 })) {
      second.push(result.index);
    }
    expect(second.sort()).toEqual([0, 1]);
    await envs.close();
    for await (const result of envs.asCompleted([null, null, null, null])) {
      expect(result).toMatchObject({ index: 2, outcome: "lost" });
    }
  });

  test("is rejected when sessions share a socket", async () => {
    const server = await start();
    await using envs = await connectVector(server.url, counterContract, { size: 1 });
    const results = envs.asCompleted(add(1))[Symbol.asyncIterator]();
    await expect(results.next()).rejects.toThrow("ownSockets: true");
  });
});

test.each([false, true])(
  "at most `concurrency` sessions are called at the same time (own sockets: %s)",
  async (ownSockets) => {
    const server = await start();
    const options = { size: 6, concurrency: 2, ownSockets };
    await using envs = await connectVector(server.url, counterContract, options);
    await envs.reset();
    const stepping = envs.step([{ amount: 60 }, { amount: 60 }, ...add(4)], { timeoutMs: 3_000 });
    expect(outcomes(await stepping)).toEqual(["lost", "lost", "ok", "ok", "ok", "ok"]);
  },
);

test("connecting works with one server down, and fails with all servers down", async () => {
  const server = await start();
  const urls = [server.url, "http://127.0.0.1:9"];
  await using envs = await connectVector(urls, counterContract, { size: 3 });
  expect(outcomes(await envs.reset())).toEqual(["ok", "ok", "ok"]);
  const none = connectVector("http://127.0.0.1:9", counterContract, { size: 1 });
  await expect(none).rejects.toMatchObject({ code: "CONNECTION_FAILED" });
});

test("servers of a provider are started and end with the vector environment", async () => {
  await using project = await createProject({ "environment.ts": counterModule() });
  const options = { size: 4, servers: 2, start: { directory: project.dir } };
  const envs = await connectVector(processProvider(), options);
  expect(outcomes(await envs.reset())).toEqual(Array(4).fill("ok"));
  expect(new Set(envs.places())).toEqual(new Set(envs.urls));
  expect(envs.urls).toHaveLength(2);
  await envs.close();
  await envs.close();
  for (const url of envs.urls) await expect(fetch(`${url}/health`)).rejects.toThrow();
}, 90_000);

test("invalid options are rejected", async () => {
  const open = (options: object) => connectVector("http://127.0.0.1:9", { size: 1, ...options });
  for (const [opening, words] of [
    [() => open({ size: 0 }), "size must be a positive integer, got 0"],
    [() => open({ concurrency: 0 }), "concurrency must be"],
    [() => open({ autoreset: "often" }), 'must be disabled, next-step or same-step, got "often"'],
    [() => connectVector([], { size: 1 }), "the URL of at least one server"],
    [() => connectVector(processProvider(), { size: 1, start: undefined as never }), "start is missing"],
  ] as const) {
    await expect(opening()).rejects.toMatchObject({ code: "INVALID_CONFIG", message: expect.stringContaining(words) });
  }
});

describe("calls of the same session", () => {
  test("are made one after the other: two resets at the same time open it once", async () => {
    const server = await start();
    await using envs = await connectVector(server.url, counterContract, { size: 3 });
    const resets = await Promise.all([envs.reset({ start: 1 }), envs.reset({ start: 2 })]);
    expect(resets.map(outcomes)).toEqual([Array(3).fill("ok"), Array(3).fill("ok")]);
    expect(await envs.step(add(3))).toMatchObject(Array(3).fill({ observation: { count: 3 } }));
    expect(server.capacity().active_sessions).toBe(3);
  });

  test("can be aborted while they wait, and the session continues", async () => {
    const server = await start();
    await using envs = await connectVector(server.url, counterContract, { size: 2, autoreset: "next-step" });
    await envs.reset();
    const aborting = new AbortController();
    const first = envs.step([{ amount: 50 }, null]);
    const second = envs.step(add(2), { signal: aborting.signal });
    aborting.abort();
    expect(await second).toMatchObject(Array(2).fill({ outcome: "lost", error: { code: "ABORTED" } }));
    expect(outcomes(await first)).toEqual(["terminated", null]);
    expect(await envs.step([null, { amount: 1 }])).toMatchObject([null, { began: false, observation: { count: 1 } }]);
  });
});
