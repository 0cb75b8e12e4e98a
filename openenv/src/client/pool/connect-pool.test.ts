import { processProvider } from "openenv-ts/providers";
import { describe, expect, test } from "vitest";
import { counterModule, createProject, startCommand } from "../../../test-support/command-line.js";
import { counterContract } from "../../../test-support/counter.js";
import { useServers } from "../../../test-support/servers.js";
import { connectPool, type PoolResult } from "../index.js";

const { start } = useServers();

type Result = PoolResult<typeof counterContract> | null;
const outcomes = (results: (PoolResult | Result)[]) => results.map((result) => result?.outcome ?? null);
const counts = (results: Result[]) => results.map((result) => result?.observation?.count ?? null);
const add = (size: number, amount = 1) => Array.from({ length: size }, () => ({ amount }));
const held = (servers: { capacity(): { active_sessions: number } }[]) =>
  servers.map((server) => server.capacity().active_sessions);

describe.each([false, true])("a pool with a socket for each session: %s", (ownSockets) => {
  test("shares its sessions over the servers and calls them together, each with its own outcome", async () => {
    const servers = [await start(), await start(), await start()];
    const urls = servers.map(({ url }) => url);
    await using pool = await connectPool(urls, counterContract, { size: 7, ownSockets });
    expect(counts(await pool.reset({ start: 2 }))).toEqual([2, 2, 2, 2, 2, 2, 2]);
    expect(held(servers).sort()).toEqual([2, 2, 3]);
    expect(new Set(pool.places())).toEqual(new Set(urls));
    const results = await pool.step([...add(4), { amount: 13 }, null, { amount: 9 }]);
    expect(outcomes(results)).toEqual(["ok", "ok", "ok", "ok", "env_error", null, "terminated"]);
    expect(results[3]).toMatchObject({ index: 3, began: false, reopened: false, next: null, reward: 1 });
    expect((await pool.state()).map((state) => "total" in state && state.total)).toEqual([1, 1, 1, 1, 0, 0, 9]);
    await pool.close();
    await expect.poll(() => held(servers)).toEqual([0, 0, 0]);
    expect(outcomes(await pool.step(add(7)))).toEqual(Array(7).fill("lost"));
  });

  test("what one server has no room for goes to another, and what no server has room for fails alone", async () => {
    const servers = [await start({ maxConcurrentEnvs: 1 }), await start({ maxConcurrentEnvs: 3 })];
    await using pool = await connectPool(
      servers.map(({ url }) => url),
      counterContract,
      { size: 5, ownSockets },
    );
    const results = await pool.reset();
    expect(outcomes(results).sort()).toEqual(["env_error", "ok", "ok", "ok", "ok"]);
    expect(results.find((result) => result?.outcome === "env_error")).toMatchObject({
      error: { code: "CAPACITY_REACHED" },
    });
    expect(held(servers)).toEqual([1, 3]);
  });

  test.each(["disabled", "next-step", "same-step"] as const)(
    "a server that is killed in a step: its sessions are lost once, and told as reopened elsewhere (%s)",
    async (autoreset) => {
      await using project = await createProject({ "environment.ts": SLOW });
      const serve = () => startCommand(["serve", "environment.ts", "--port", "0"], { cwd: project.dir });
      await using dying = serve();
      await using staying = serve();
      const urls = await Promise.all(
        [dying, staying].map(async (one) => (await one.printed(/at (http:\S+)/))[1] ?? ""),
      );
      await using pool = await connectPool(urls, { size: 4, autoreset, ownSockets });
      await pool.reset();
      const there = pool.places().map((place) => place === urls[0]);
      expect(there.filter(Boolean)).toHaveLength(2);
      const stepping = pool.step(there.map((dies) => ({ amount: dies ? 60 : 1 })));
      await dying.printed(/hanging/);
      dying.process.kill("SIGKILL");
      const stepped = await stepping;
      expect(outcomes(stepped)).toEqual(there.map((lost) => (lost ? "lost" : "ok")));
      const again = autoreset === "disabled" ? await pool.reset() : await pool.step(add(4));
      const told = autoreset === "same-step" ? stepped : again;
      expect(told.map((result) => result?.reopened)).toEqual(there);
      if (autoreset === "same-step") expect(told.map((one) => one?.next?.outcome === "ok")).toEqual(there);
      expect(outcomes(again)).toEqual(Array(4).fill("ok"));
      expect(pool.places()).toEqual(Array(4).fill(urls[1]));
      expect((await pool.step(add(4))).map((result) => result?.reopened)).toEqual(Array(4).fill(false));
    },
    60_000,
  );
});

const SLOW = counterModule().replace(
  "step: ({ amount }) => (",
  'step: ({ amount }) => amount === 60 ? (console.log("hanging"), new Promise(() => {})) : (',
);

describe("autoreset", () => {
  test("disabled leaves an episode that is over to its caller", async () => {
    const server = await start();
    await using pool = await connectPool(server.url, counterContract, { size: 2 });
    await pool.reset([{ start: 9 }, {}]);
    expect(outcomes(await pool.step(add(2)))).toEqual(["terminated", "ok"]);
    expect(counts(await pool.step(add(2)))).toEqual([11, 2]);
  });

  test("next-step begins the next episode with the next step, whose action is not used", async () => {
    const server = await start();
    const resetWith = (index: number) => ({ start: 5 + index });
    const options = { size: 2, autoreset: "next-step", resetWith } as const;
    await using pool = await connectPool(server.url, counterContract, options);
    await pool.reset([{ start: 9 }, {}]);
    const ended = await pool.step(add(2));
    expect(ended[0]).toMatchObject({ outcome: "terminated", observation: { count: 10 }, reward: 1, next: null });
    const next = await pool.step(add(2));
    expect(next[0]).toMatchObject({ began: true, observation: { count: 5 }, reward: null, reopened: false });
    expect(counts(await pool.step(add(2)))).toEqual([6, 3]);
  });

  test("same-step has the end of one episode and the beginning of the next in one result", async () => {
    const server = await start();
    await using pool = await connectPool(server.url, counterContract, { size: 2, autoreset: "same-step" });
    await pool.reset([{ start: 9 }, {}]);
    const [ended, other] = await pool.step(add(2));
    expect(ended).toMatchObject({ outcome: "terminated", observation: { count: 10 }, reward: 1 });
    expect(ended?.next).toMatchObject({ outcome: "ok", observation: { count: 0 } });
    expect(other?.next).toBeNull();
    expect(counts(await pool.step(add(2)))).toEqual([1, 2]);
  });

  test("an error of the environment leaves the episode as it is", async () => {
    const server = await start();
    await using pool = await connectPool(server.url, counterContract, { size: 1, autoreset: "next-step" });
    await pool.reset({ start: 3 });
    expect(outcomes(await pool.step([{ amount: 13 }]))).toEqual(["env_error"]);
    expect(counts(await pool.step(add(1)))).toEqual([4]);
  });
});

describe("asCompleted", () => {
  test("gives the first results that are there; the others come with the next call", async () => {
    const server = await start();
    await using pool = await connectPool(server.url, counterContract, { size: 4, ownSockets: true });
    await pool.reset();
    const first: number[] = [];
    const actions = [{ amount: 50 }, { amount: 1 }, { amount: 60 }, { amount: 2 }];
    for await (const result of pool.asCompleted(actions, { count: 2 })) first.push(result.index);
    expect(first.sort()).toEqual([1, 3]);
    await expect(pool.step([{ amount: 1 }, null, null, null])).rejects.toThrow("Session 0 has not answered yet");
    const second: number[] = [];
    for await (const result of pool.asCompleted([null, { amount: 1 }, null, null], { count: 2 })) {
      second.push(result.index);
    }
    expect(second.sort()).toEqual([0, 1]);
    await pool.close();
    for await (const result of pool.asCompleted([null, null, null, null])) {
      expect(result).toMatchObject({ index: 2, outcome: "lost" });
    }
  });

  test("says what it needs when sessions share a socket", async () => {
    const server = await start();
    await using pool = await connectPool(server.url, counterContract, { size: 1 });
    const results = pool.asCompleted(add(1))[Symbol.asyncIterator]();
    await expect(results.next()).rejects.toThrow("ownSockets: true");
  });
});

test.each([false, true])(
  "no more sessions than `concurrency` are asked at a time (own sockets: %s)",
  async (ownSockets) => {
    const server = await start();
    const options = { size: 6, concurrency: 2, ownSockets };
    await using pool = await connectPool(server.url, counterContract, options);
    await pool.reset();
    const stepping = pool.step([{ amount: 60 }, { amount: 60 }, ...add(4)], { timeoutMs: 2_000 });
    expect(outcomes(await stepping)).toEqual(["lost", "lost", "ok", "ok", "ok", "ok"]);
  },
);

test("a server that is not there yet gets sessions once it is; without any, connecting fails", async () => {
  const server = await start();
  const urls = [server.url, "http://127.0.0.1:9"];
  await using pool = await connectPool(urls, counterContract, { size: 3 });
  expect(outcomes(await pool.reset())).toEqual(["ok", "ok", "ok"]);
  const none = connectPool("http://127.0.0.1:9", counterContract, { size: 1 });
  await expect(none).rejects.toMatchObject({ code: "CONNECTION_FAILED" });
});

test("a provider's servers are started for the pool and end with it", async () => {
  await using project = await createProject({ "environment.ts": counterModule() });
  const options = { size: 4, servers: 2, start: { directory: project.dir } };
  const pool = await connectPool(processProvider(), options);
  expect(outcomes(await pool.reset())).toEqual(Array(4).fill("ok"));
  expect(new Set(pool.places())).toEqual(new Set(pool.urls));
  expect(pool.urls).toHaveLength(2);
  await pool.close();
  await pool.close();
  for (const url of pool.urls) await expect(fetch(`${url}/health`)).rejects.toThrow();
}, 90_000);

test("wrong options are refused", async () => {
  const open = (options: object) => connectPool("http://127.0.0.1:9", { size: 1, ...options });
  for (const [opening, words] of [
    [() => open({ size: 0 }), "size must be a whole number from 1 on"],
    [() => open({ concurrency: 0 }), "concurrency must be"],
    [() => open({ autoreset: "often" }), "give disabled, next-step or same-step"],
    [() => connectPool([], { size: 1 }), "at least one server"],
    [() => connectPool(processProvider(), { size: 1, start: undefined as never }), "Say what the provider starts"],
  ] as const) {
    await expect(opening()).rejects.toMatchObject({ code: "INVALID_CONFIG", message: expect.stringContaining(words) });
  }
});
