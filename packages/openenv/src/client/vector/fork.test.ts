import { describe, expect, test } from "vitest";
import * as z from "zod";
import { useServers } from "../../../../../test-support/servers/servers.js";
import { defineContract, defineEnvironment, type StepContext } from "../../index.js";
import { connectVector, type VectorResult } from "../index.js";

const servers = useServers();

const contract = defineContract({
  name: "adder_env",
  action: z.object({ add: z.int() }),
  observation: z.object({ sum: z.int(), rolled: z.int() }),
});

function makeAdder({ saves }: { saves: boolean }) {
  let sum = 0;
  return {
    reset: () => ({ observation: { sum: (sum = 0), rolled: 0 } }),
    step: ({ add }: { add: number }, { rng }: StepContext) => {
      return { observation: { sum: (sum += add), rolled: rng.int(1, 1_000_000_000) }, done: sum >= 100 };
    },
    ...(saves && { snapshot: () => sum, restore: (saved: unknown) => void (sum = saved as number) }),
  };
}
const bySnapshot = { environment: defineEnvironment(contract, () => makeAdder({ saves: true })) };
const byReplay = { environment: defineEnvironment(contract, () => makeAdder({ saves: false }), { seeded: true }) };
const byNeither = { environment: defineEnvironment(contract, () => makeAdder({ saves: false })) };

type Result = VectorResult<typeof contract> | null;
const sums = (results: Result[]) => results.map((result) => result?.observation?.sum ?? null);
const rolls = (results: Result[]) => results.map((result) => result?.observation?.rolled ?? null);
const add = (...amounts: (number | null)[]) => amounts.map((amount) => (amount === null ? null : { add: amount }));

describe("fork of a vector environment", () => {
  test.each([
    ["snapshot", bySnapshot, false],
    ["replay", byReplay, true],
  ])("replaces sessions by copies of others, at capacity, too: by %s", async (_, served, resume) => {
    const server = await servers.start({ maxConcurrentEnvs: 6 }, served);
    await using envs = await connectVector(server.url, contract, { size: 6, resume });
    await envs.reset([1, 2, 3, 4, 5, 6].map((seed) => ({ seed })));
    await envs.step(add(1, 2, 3, 4, 5, 6));
    expect(await envs.fork([null, 0, 0, null, 3, 5])).toEqual(Array(6).fill(null));
    expect(server.capacity().active_sessions).toBe(6);
    const results = await envs.step(add(10, 20, 30, 0, 0, 0));
    expect(sums(results)).toEqual([11, 21, 31, 4, 4, 6]);
    const [one, two, three, four, five, six] = rolls(results);
    expect([two, three, five]).toEqual([one, one, four]);
    expect(new Set([one, four, six]).size).toBe(3);
    await envs.fork([null, 0, 0, 0, null, null], { rng: "split" });
    expect(new Set(rolls(await envs.step(add(1, 1, 1, 1, null, null))).slice(0, 4)).size).toBe(4);
    expect(await envs.state()).toMatchObject([3, 3, 3, 3, 2, 2].map((step_count) => ({ step_count })));
  });

  test("moves copies to the server of the session that was copied, and they reset like any other", async () => {
    const urls = [await servers.start({}, bySnapshot), await servers.start({}, bySnapshot)].map(({ url }) => url);
    await using envs = await connectVector(urls, contract, { size: 4, autoreset: "next-step" });
    await envs.reset();
    await envs.step(add(7, 1, 1, 1));
    expect(await envs.fork([0, 0, 0, 0])).toEqual([null, null, null, null]);
    expect(new Set(envs.places()).size).toBe(1);
    expect(sums(await envs.step(add(1, 2, 3, 100)))).toEqual([8, 9, 10, 107]);
    expect(sums(await envs.step(add(1, 1, 1, 1)))).toEqual([9, 10, 11, 0]);
  });

  test("reports sessions that are not copies, and the others continue", async () => {
    const server = await servers.start({}, byNeither);
    await using envs = await connectVector(server.url, contract, { size: 3 });
    expect(await envs.fork([null, 0, null])).toMatchObject([null, { outcome: "lost", done: true }, null]);
    await envs.reset();
    const [, failed] = await envs.fork([null, 0, null]);
    expect(failed).toMatchObject({ outcome: "env_error", reward: null, error: { code: "NOT_RESTORABLE" } });
    expect((await envs.step(add(1, 1, 1))).map((result) => result?.outcome)).toEqual(["ok", "lost", "ok"]);
    expect(sums(await envs.reset([null, {}, null]))).toEqual([null, 0, null]);
  });

  test("ends the sessions whose parent has no episode", async () => {
    const server = await servers.start({}, bySnapshot);
    await using envs = await connectVector(server.url, contract, { size: 3 });
    await envs.reset([null, {}, {}]);
    expect(await envs.fork([null, 0, 0])).toMatchObject([null, { outcome: "lost" }, { outcome: "lost" }]);
    const results = await envs.step(add(null, 1, 1));
    expect(results).toMatchObject([null, { outcome: "lost", reward: null }, { outcome: "lost", reward: null }]);
    expect(sums(await envs.reset())).toEqual([0, 0, 0]);
  });

  test("leaves all sessions as they are when it is aborted before it begins, or the client is closed", async () => {
    const server = await servers.start({}, bySnapshot);
    const envs = await connectVector(server.url, contract, { size: 3 });
    await envs.reset();
    await envs.step(add(1, 2, 3));
    const [aborted] = await envs.fork([null, 0, 0], { signal: AbortSignal.abort() }).then((all) => all.slice(1));
    expect(aborted).toMatchObject({ outcome: "lost", error: { code: "ABORTED" } });
    expect(sums(await envs.step(add(0, 0, 0)))).toEqual([1, 2, 3]);
    await envs.close();
    expect((await envs.fork([null, 0, null]))[1]).toMatchObject({ error: { code: "CLIENT_CLOSED" } });
  });

  test("refuses parents that do not exist or are replaced, and sockets of one session", async () => {
    const server = await servers.start({}, bySnapshot);
    await using envs = await connectVector(server.url, contract, { size: 3 });
    await expect(envs.fork([0, 0])).rejects.toThrow(/Expected 3 values/);
    await expect(envs.fork([null, 3, null])).rejects.toThrow("There is no session 3: use 0 to 2.");
    await expect(envs.fork([1, 2, null])).rejects.toThrow("Session 1 cannot be copied and replaced in one call.");
    await using apart = await connectVector(server.url, contract, { size: 2, ownSockets: true });
    await expect(apart.fork([null, 0])).rejects.toThrow("connect without ownSockets");
  });

  test("fork_many answers each item on its own", async () => {
    const server = await servers.start({ maxConcurrentEnvs: 4 }, bySnapshot);
    const socket = await servers.open(server, "/ws?openenv=batch");
    await socket.ask({ type: "open_many", data: { count: 1 } });
    const items = [
      { session: 0, count: 9 },
      { session: 7, count: 1 },
      { session: 0 },
      5,
      { session: 0, count: 2, event: 3 },
    ];
    const answer = await socket.ask({ type: "fork_many", data: { items } });
    const codes = (answer["data"] as { items: { data: { code: string } }[] }).items.map(({ data }) => data.code);
    expect(codes).toEqual([
      "CAPACITY_REACHED",
      "SESSION_ERROR",
      "VALIDATION_ERROR",
      "VALIDATION_ERROR",
      "EVENT_NOT_KEPT",
    ]);
    expect(await socket.ask({ type: "fork_many", data: { items: [{ session: 0, count: 2, rng: "split" }] } })).toEqual({
      type: "many",
      data: { items: [{ type: "forked", data: { event: 0, sessions: [1, 2] } }] },
    });
  });
});

describe("resetGroups", () => {
  test.each([false, true])("a group whose reset fails plays no old episode (fork: %s)", async (fork) => {
    const server = await servers.start({}, bySnapshot);
    await using envs = await connectVector(server.url, contract, { size: 4 });
    await envs.reset();
    await envs.step(add(1, 1, 1, 1));
    const begun = await envs.resetGroups([{ seed: 1 }, { seed: "x" as unknown as number }], { fork });
    expect(begun.map(({ outcome, done }) => [outcome, done])).toEqual([
      ["ok", false],
      ["ok", false],
      ["env_error", true],
      [fork ? "lost" : "env_error", true],
    ]);
    const results = await envs.step(add(1, 1, 1, 1));
    expect(results.map((result) => [result?.outcome, result?.reward ?? null])).toEqual([
      ["ok", null],
      ["ok", null],
      ["lost", null],
      ["lost", null],
    ]);
    expect(sums(await envs.reset())).toEqual([0, 0, 0, 0]);
  });

  const ids = (results: Result[]) => results.map((result) => result?.groupId ?? null);

  test("starts episodes that begin alike within a group, by seed or by copies, and names the group", async () => {
    const server = await servers.start({}, bySnapshot);
    await using envs = await connectVector(server.url, contract, { size: 4 });
    const bySeed = await envs.resetGroups([{ seed: 1 }, { seed: 2 }]);
    expect(bySeed.map(({ index, outcome, began }) => ({ index, outcome, began }))).toEqual(
      [0, 1, 2, 3].map((index) => ({ index, outcome: "ok", began: true })),
    );
    expect(ids(bySeed)).toEqual([0, 0, 1, 1]);
    const [one, two, three, four] = rolls(await envs.step(add(1, 1, 1, 1)));
    expect([two, four]).toEqual([one, three]);
    expect(one).not.toBe(three);

    expect(ids(await envs.resetGroups([{}, {}], { fork: true, rng: "same" }))).toEqual([0, 0, 1, 1]);
    const stepped = await envs.step(add(1, 1, 1, 1));
    const [five, six, seven, eight] = rolls(stepped);
    expect([six, eight]).toEqual([five, seven]);
    expect(ids(stepped)).toEqual([0, 0, 1, 1]);
    // The random numbers of the copies differ, by default.
    await envs.resetGroups([{ seed: 3 }], { fork: true });
    expect(new Set(rolls(await envs.step(add(1, 1, 1, 1)))).size).toBe(4);
    // Another reset leaves the group.
    expect(ids(await envs.reset([{}, null, null, null]))).toEqual([null, null, null, null]);
    expect(ids(await envs.step(add(1, 1, null, null)))).toEqual([null, 0, null, null]);
    await expect(envs.resetGroups([{}, {}, {}])).rejects.toThrow("4 sessions cannot be divided into 3 groups");
  });

  test("reports the failure of each copy that cannot be made", async () => {
    const server = await servers.start({}, byNeither);
    await using envs = await connectVector(server.url, contract, { size: 4 });
    const results = await envs.resetGroups([{ seed: 1 }, { seed: 2 }], { fork: true });
    expect(results.map(({ outcome }) => outcome)).toEqual(["ok", "env_error", "ok", "env_error"]);
    expect(results[1]).toMatchObject({ error: { code: "NOT_RESTORABLE" } });
  });
});
