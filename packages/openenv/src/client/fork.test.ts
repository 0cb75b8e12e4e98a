import { describe, expect, test } from "vitest";
import * as z from "zod";
import { counterContract, defineCounter } from "../../../../test-support/environments/counter.js";
import { startGateway } from "../../../../test-support/proxies/gateway.js";
import { useServers } from "../../../../test-support/servers/servers.js";
import { connect } from "../connect.js";
import { connectTools } from "../connect-tools.js";
import {
  ConfigError,
  defineContract,
  defineEnvironment,
  defineTools,
  type RemoteError,
  type StepContext,
} from "../index.js";
import type { RunningServer } from "../server/types.js";

const servers = useServers();

const contract = defineContract({
  name: "dice_env",
  action: z.object({ add: z.int().default(0) }),
  observation: z.object({ sum: z.int(), rolled: z.int() }),
});
let throws = false;

/** Adds, and rolls the dice of the context. */
function makeDice({ saves }: { saves: boolean }) {
  let sum = 0;
  return {
    reset: () => ({ observation: { sum: (sum = 0), rolled: 0 } }),
    step: ({ add }: { add: number }, { rng }: StepContext) => {
      const rolled = rng.int(1, 1_000_000_000);
      return { observation: { sum: (sum += add), rolled } };
    },
    ...(saves && {
      snapshot: () => {
        if (throws) throw new Error("no film");
        return { sum };
      },
      restore: (saved: unknown) => void ({ sum } = saved as { sum: number }),
    }),
  };
}
const bySnapshot = { environment: defineEnvironment(contract, () => makeDice({ saves: true })) };
const byReplay = { environment: defineEnvironment(contract, () => makeDice({ saves: false }), { seeded: true }) };

const open = (server: RunningServer) => connect(server.url, contract, { resume: true });
const sessions = (server: RunningServer) => server.capacity().active_sessions;
const close = (envs: { close(): Promise<void> }[]) => Promise.all(envs.map((env) => env.close()));
const errorOf = (promise: Promise<unknown>) =>
  promise.then(
    () => expect.unreachable("it was not refused"),
    (error: RemoteError) => error,
  );

describe.each([
  ["snapshot", bySnapshot],
  ["replay", byReplay],
])("a session that is restored by %s", (_, served) => {
  test("is copied with its episode and its random numbers, and every copy goes its own way", async () => {
    const server = await servers.start({}, served);
    await using env = await open(server);
    await env.reset({ seed: 3, episodeId: "shared" });
    await env.step({ add: 2 });
    const copies = await env.fork(3);
    expect(sessions(server)).toBe(4);
    const next = await env.step({ add: 10 });
    for (const [nth, copy] of copies.entries()) {
      expect(await copy.state()).toEqual({ episode_id: "shared", step_count: 1 });
      const { observation } = await copy.step({ add: nth });
      expect(observation).toEqual({ sum: 2 + nth, rolled: next.observation.rolled });
    }
    expect((await copies[0]?.step({ add: 1 }))?.observation.sum).toBe(3);
    expect((await env.step({ add: 0 })).observation.sum).toBe(12);
    await close(copies);
    await expect.poll(() => sessions(server)).toBe(1);
  });

  test("gives each copy other random numbers with rng: split, and a copy can be copied again", async () => {
    const server = await servers.start({}, served);
    await using env = await open(server);
    await env.reset({ seed: 3 });
    const copies = await env.fork(4, { rng: "split" });
    const rolls = await Promise.all([env, ...copies].map(async (one) => (await one.step({})).observation.rolled));
    expect(new Set(rolls).size).toBe(5);
    const [copy] = await env.fork(1);
    const [second] = (await copy?.fork(1)) ?? [];
    const { url, ...step } = await env.step({});
    const copied = await second?.step({});
    expect(copied).toMatchObject(step);
    expect(copied?.url).not.toBe(url);
    await close([...copies, copy, second].flatMap((one) => one ?? []));
  });

  test("is copied before its first reset, in process, and through a connection that is cut", async () => {
    await using local = await connect(served.environment);
    await local.reset({ seed: 1 });
    const inside = await local.fork(2);
    expect(await inside[0]?.step({ add: 1 })).toEqual(await inside[1]?.step({ add: 1 }));
    await close(inside);
    const server = await servers.start({}, served);
    await using gateway = await startGateway(server, "passes");
    await using env = await connect(gateway.url, contract, { resume: true });
    const [copy] = await env.fork(1);
    await copy?.reset({ seed: 1 });
    gateway.cut();
    expect(await copy?.step({ add: 4 })).toMatchObject({ observation: { sum: 4 }, recovered: true });
    await copy?.close();
  });

  test("makes all copies or none", async () => {
    const server = await servers.start({ maxConcurrentEnvs: 4 }, served);
    await using env = await open(server);
    await env.reset({ seed: 3 });
    expect(await errorOf(env.fork(4))).toMatchObject({ code: "CAPACITY_REACHED" });
    expect(sessions(server)).toBe(1);
    const copies = await env.fork(3);
    expect(sessions(server)).toBe(4);
    await close(copies);
    expect((await env.step({ add: 1 })).observation.sum).toBe(1);
  });
});

test("an episode is copied at one of its events", async () => {
  const server = await servers.start({}, byReplay);
  await using env = await open(server);
  await env.reset({ seed: 8 });
  await env.step({ add: 5 });
  await env.reset({ seed: 9 });
  const results = [];
  for (const add of [1, 2, 3]) results.push(await env.step({ add }));
  const rolls = results.map(({ observation }) => observation.rolled);
  // Events 1 and 2 are of the episode before; 3 is the reset.
  expect(results.map(({ event }) => event)).toEqual([4, 5, 6]);
  const [start, middle] = [(await env.at(3).fork(1))[0], (await env.at(results[1]?.event ?? 0).fork(1))[0]];
  expect(await start?.state()).toMatchObject({ step_count: 0 });
  expect(await middle?.state()).toMatchObject({ step_count: 2 });
  expect((await start?.step({ add: 7 }))?.observation).toEqual({ sum: 7, rolled: rolls[0] });
  expect((await middle?.step({ add: 7 }))?.observation).toEqual({ sum: 10, rolled: rolls[2] });
  for (const gone of [2, 7]) {
    expect(await errorOf(env.at(gone).fork(1))).toMatchObject({
      code: "EVENT_NOT_KEPT",
      message: expect.stringContaining("is not kept, only after 3 to 6"),
    });
  }
  await close([start, middle].flatMap((one) => one ?? []));
});

test("a copy continues the numbers of the events, also in process", async () => {
  const server = await servers.start({}, byReplay);
  for (const env of [await open(server), await connect(byReplay.environment)]) {
    const { event = 0 } = await env.reset({ seed: 8 });
    await env.step({ add: 5 });
    const [copy] = await env.at(event).fork(1);
    expect([event, (await copy?.step({ add: 1 }))?.event, (await env.step({ add: 1 })).event]).toEqual([1, 2, 3]);
    await close([env, copy].flatMap((one) => one ?? []));
  }
});

test("with snapshots, only the state after the last event is kept", async () => {
  const server = await servers.start({}, bySnapshot);
  await using env = await open(server);
  await env.reset({ seed: 9 });
  await env.step({ add: 1 });
  await close(await env.at(2).fork(1));
  expect(await errorOf(env.at(1).fork(1))).toMatchObject({ code: "EVENT_NOT_KEPT" });
  throws = true;
  expect(await errorOf(env.fork(1))).toMatchObject({
    code: "SNAPSHOT_FAILED",
    message: expect.stringContaining("no film"),
  });
  throws = false;
  expect((await env.step({ add: 1 })).observation.sum).toBe(2);
});

test("with history, the states after the last events are kept, within a limit of bytes", async () => {
  const environment = defineEnvironment(contract, () => makeDice({ saves: true }), { history: 3 });
  const server = await servers.start({}, { environment });
  for (const env of [await open(server), await connect(environment)]) {
    await env.reset({ seed: 9 });
    const rolls: unknown[] = [undefined];
    for (const add of [1, 2, 3]) rolls.push((await env.step({ add })).observation.rolled);
    const copies = (await Promise.all([2, 3, 4].map((event) => env.at(event).fork(1)))).flat();
    expect(await Promise.all(copies.map((copy) => copy.state()))).toMatchObject(
      [1, 2, 3].map((step_count) => ({ step_count })),
    );
    const [second] = copies;
    expect((await second?.step({ add: 10 }))?.observation).toEqual({ sum: 11, rolled: rolls[2] });
    const { code, message } = await errorOf(env.at(1).fork(1));
    expect(code).toBe("EVENT_NOT_KEPT");
    expect(message).toContain("the state after event 1 is not kept, only after 2 to 4; the option history");
    // Like a session that was restored, a copy keeps only what happens in it.
    expect(await errorOf(second?.at(2).fork(1) as Promise<unknown>)).toMatchObject({ code: "EVENT_NOT_KEPT" });
    await close([env, ...copies]);
  }
  const small = await servers.start({ historyBytes: 1024 }, { environment });
  await using env = await open(small);
  for (let nth = 0; nth < 9; nth++) await env.reset({ seed: nth, episodeId: "long".repeat(50) });
  await close(await env.at(8).fork(1));
  expect(await errorOf(env.at(7).fork(1))).toMatchObject({ message: expect.stringContaining("only after 8 to 9") });
  expect(() => defineEnvironment(contract, () => makeDice({ saves: true }), { history: 0 })).toThrow("history must be");
});

test("the limits of a restore are settings", async () => {
  const short = await servers.start({ replayEvents: 2 }, byReplay);
  await using env = await open(short);
  await env.reset({ seed: 1 });
  for (const add of [1, 2]) await env.step({ add });
  expect((await errorOf(env.fork(1))).message).toContain("the episode has more than 2 events (REPLAY_EVENTS)");
  const big = defineEnvironment(contract, () => ({
    ...makeDice({ saves: false }),
    snapshot: () => "x".repeat(2000),
    restore: () => {},
  }));
  const small = await servers.start({ snapshotBytes: 1024 }, { environment: big });
  await using other = await open(small);
  await other.reset();
  expect((await errorOf(other.fork(1))).message).toContain("2002 bytes; the limit is 1024");
  const slow = {
    ...makeDice({ saves: false }),
    reset: () => new Promise((resolve) => setTimeout(resolve, 20)).then(() => ({ observation: { sum: 0, rolled: 0 } })),
  };
  const late = await servers.start(
    { replayTimeout: 0.001 },
    { environment: defineEnvironment(contract, () => slow, { seeded: true }) },
  );
  await using last = await open(late);
  await last.reset();
  expect((await errorOf(last.fork(1))).message).toContain("the replay took more than 0.001 s: raise REPLAY_TIMEOUT");
  const stuck = defineEnvironment(contract, () => ({
    ...makeDice({ saves: false }),
    snapshot: () => 1,
    restore: () => new Promise<void>(() => {}),
  }));
  const hanging = await servers.start({ replayTimeout: 0.1, maxConcurrentEnvs: 2 }, { environment: stuck });
  await using parent = await open(hanging);
  await parent.reset();
  const text = "restore() took more than 0.1 s: raise REPLAY_TIMEOUT";
  expect(await errorOf(parent.fork(1))).toMatchObject({
    code: "RESTORE_FAILED",
    message: expect.stringContaining(text),
  });
  // The copy has left its slot.
  expect(hanging.capacity().active_sessions).toBe(1);
});

test("what cannot be copied is refused with the reason", async () => {
  const server = await servers.start();
  await using env = await connect(server.url, counterContract, { resume: true });
  await env.reset();
  expect(await errorOf(env.fork(2))).toMatchObject({
    code: "NOT_RESTORABLE",
    message: expect.stringMatching(/neither snapshot\(\) and restore\(\) nor seeded: true/),
  });
  expect(await errorOf(env.fork(0))).toMatchObject({ code: "VALIDATION_ERROR" });
  expect((await env.step({ amount: 1 })).observation.count).toBe(1);
  await using plain = await connect(server.url, counterContract);
  await expect(plain.fork(1)).rejects.toThrow(ConfigError);
  await using local = await connect(defineCounter().environment);
  expect(await errorOf(local.fork(1))).toMatchObject({ code: "NOT_RESTORABLE" });
});

const piles = defineContract({ name: "pile_env", tools: defineTools({ put: { description: "Puts a stone on it." } }) });
const pile = defineEnvironment(piles, () => {
  let stones = 0;
  return {
    reset: () => {
      stones = 0;
      return { observation: {} };
    },
    tools: { put: () => ++stones },
    snapshot: () => stones,
    restore: (saved) => void (stones = saved as number),
  };
});

test.each([
  ["a server", async () => connectTools((await servers.start({}, { environment: pile })).url, piles, { resume: true })],
  ["a process", () => connectTools(pile)],
  ["a process, outside of steps", () => connectTools(pile, { mode: "production" })],
])("the tools of a copy are those of the copy, in %s", async (_, openPile) => {
  await using env = await openPile();
  await env.reset();
  await env.tools.put();
  const copies = await env.fork(2);
  expect((await copies[0]?.tools.put())?.data).toBe(2);
  expect((await copies[0]?.tools.put())?.data).toBe(3);
  expect((await copies[1]?.tools.put())?.data).toBe(2);
  expect((await env.tools.put()).data).toBe(2);
  await close(copies);
});
