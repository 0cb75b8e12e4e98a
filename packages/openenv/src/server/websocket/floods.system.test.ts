import { existsSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import {
  openAll,
  RESET,
  startCluster,
  step,
  type TestCluster,
  until,
} from "../../../../../test-support/servers/cluster.js";
import {
  type Flood,
  flood,
  peakMemory,
  sendUnfinished,
  sendUnfinishedBodies,
} from "../../../../../test-support/sockets/attacks.js";
import { renderCostly } from "../../../../../test-support/sockets/costly-messages.js";
import { OPCODE } from "../../../../bench/src/ws-codec.js";

const MB = 1024 * 1024;
const ONE_BYTE = Buffer.from("1");
const BYSTANDERS = 20;
/** A heap that the floods filled before they were bounded. */
const SMALL_HEAP = { NODE_OPTIONS: "--max-old-space-size=512" };

const BATCH = Array.from({ length: 8 }, (_, session) => session);
const OPEN_BATCH = [
  { type: "open_many", data: { count: BATCH.length } },
  { type: "reset_many", data: { items: BATCH.map((session) => ({ session })) } },
];
const STEP_BATCH = { type: "step_many", data: { items: BATCH.map((session) => ({ session, data: { amount: 1 } })) } };

type Sessions = Awaited<ReturnType<typeof openAll>>;

/** Each session takes so many steps, one after the other; the sum of what they count at the end. */
async function stepAll(sessions: Sessions, steps: number): Promise<number> {
  const counts = sessions.map(async ({ socket }) => {
    let count = 0;
    for (let i = 0; i < steps; i++) {
      const { data } = await socket.ask(step(1));
      count = (data as { observation: { count: number } }).observation.count;
    }
    return count;
  });
  return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0);
}

const lossesOf = ({ command }: TestCluster): string[] =>
  command.stderr.split("\n").filter((line) => /worker hangs|worker was lost|heap/.test(line));

async function closeAll(sessions: Sessions): Promise<void> {
  for (const { socket } of sessions) await socket[Symbol.asyncDispose]();
}

describe.skipIf(!existsSync("/proc/self/status"))("a server that is flooded", () => {
  test("answers 20 other sessions while 600,000 one-byte frames wait behind a slow step, and loses no worker", async () => {
    await using server = await startCluster({ WORKERS: "2", WORKER_TIMEOUT: "4", MAX_CONCURRENT_ENVS: "50" });
    const bystanders = await openAll(server.url, BYSTANDERS);
    const floods: Flood[] = [];
    // One for each worker, whichever takes it.
    for (let i = 0; i < 2; i++) {
      const options = { count: 600_000, payload: ONE_BYTE, before: [RESET, step(17)], onAnswer: () => {} };
      floods.push(await flood(server.url, options));
    }
    await until(() => floods.every(({ answers }) => answers > 1));
    expect(await stepAll(bystanders, 10)).toBe(BYSTANDERS * 10);
    // The floods are still being answered: nobody waited for their end.
    expect(Math.max(...floods.map(({ answers }) => answers))).toBeLessThan(600_000);
    for (const each of floods) await each[Symbol.asyncDispose]();
    expect(await stepAll(bystanders, 1)).toBe(BYSTANDERS * 11);
    expect(lossesOf(server)).toEqual([]);
    await closeAll(bystanders);
  }, 60_000);

  test("answers 30,000 steps that were sent behind a slow one, each in its place", async () => {
    await using server = await startCluster({});
    const counts: number[] = [];
    const onAnswer = (answer: Buffer): void => {
      counts.push((JSON.parse(String(answer)) as { data: { observation: { count: number } } }).data.observation.count);
    };
    const payload = Buffer.from(JSON.stringify(step(1)));
    await using peer = await flood(server.url, { count: 30_000, payload, before: [RESET, step(17)], onAnswer });
    await until(() => peer.answers === 30_002);
    expect(counts).toEqual([0, 17, ...Array.from({ length: 30_000 }, (_, i) => 18 + i)]);
  }, 60_000);

  test.each([
    ["steps", { path: "/ws", before: [RESET], message: step(1), count: 3_000 }],
    ["JSON-RPC", { path: "/mcp", before: [], message: { jsonrpc: "2.0", method: "none", id: 1 }, count: 3_000 }],
    ["batches", { path: "/ws?openenv=batch", before: OPEN_BATCH, message: STEP_BATCH, count: 400 }],
  ])(
    "serves a peer that waits for each answer while 30 others pipeline %s",
    async (_, { message, ...how }) => {
      await using server = await startCluster({ MAX_CONCURRENT_ENVS: "300" });
      const bystanders = await openAll(server.url, 1);
      const payload = Buffer.from(JSON.stringify(message));
      const floods: Flood[] = [];
      const expected = 30 * (how.before.length + how.count);
      for (let i = 0; i < 30; i++) floods.push(await flood(server.url, { ...how, payload, onAnswer: () => {} }));
      await until(() => floods.every(({ answers }) => answers > how.before.length));
      await stepAll(bystanders, 10);
      expect(floods.reduce((sum, { answers }) => sum + answers, 0)).toBeLessThan(expected);
      for (const each of floods) await each[Symbol.asyncDispose]();
      await closeAll(bystanders);
    },
    60_000,
  );

  test.each([
    ["empty frames from one connection", { peers: 1, payload: Buffer.alloc(0), opcode: OPCODE.text, path: "/ws" }],
    ["one-byte frames from 20 connections", { peers: 20, payload: ONE_BYTE, opcode: OPCODE.text, path: "/ws" }],
    ["pings from a connection that reads nothing", { peers: 1, payload: ONE_BYTE, opcode: OPCODE.ping, path: "/ws" }],
  ])(
    "reads little of %s behind a step that does not end",
    async (_, { peers, ...how }) => {
      await using server = await startCluster({ ...SMALL_HEAP, MAX_CONCURRENT_ENVS: "50" });
      const bystanders = await openAll(server.url, BYSTANDERS);
      const pid = bystanders[0]?.pid as number;
      const before = [RESET, step(15)];
      const floods = [];
      // More than what the system buffers for a connection: all of it would be taken if reading did not pause.
      const count = Math.floor((40 * MB) / (6 + how.payload.length));
      for (let i = 0; i < peers; i++) floods.push(await flood(server.url, { ...how, count, before }));
      await Promise.race([sleep(4_000), Promise.all(floods.map(({ sent }) => sent))]);
      expect(await stepAll(bystanders, 5)).toBe(BYSTANDERS * 5);
      const taken = floods.reduce((sum, { takenBytes }) => sum + takenBytes, 0);
      // At most 4 MB of send buffer and 6 MB of receive buffer, and a read or two; pings do not wait for a step.
      if (how.opcode === OPCODE.text) expect(taken).toBeLessThan(peers * 12 * MB);
      expect(peakMemory(pid)).toBeLessThan(400 * MB);
      for (const each of floods) await each[Symbol.asyncDispose]();
      expect(await stepAll(bystanders, 1)).toBe(BYSTANDERS * 6);
      await closeAll(bystanders);
    },
    60_000,
  );

  test("answers 20 other sessions while 12 bodies of 164,000 objects that were completed at once are handled, and loses no worker", async () => {
    await using server = await startCluster({ WORKER_TIMEOUT: "8", MAX_CONCURRENT_ENVS: "50" });
    const bystanders = await openAll(server.url, BYSTANDERS);
    const body = Buffer.from(
      `{"action":{"amount":1,"any":${renderCostly("objects with different keys", { items: 987_000, bytes: 15 * MB })}}}`,
    );
    await using attack = await sendUnfinishedBodies(Number(new URL(server.url).port), { peers: 12, body });
    await until(() => attack.isSent);
    // What the system holds of them is read.
    await sleep(1_500);
    await stepAll(bystanders, 5);
    const before = await stepAll(bystanders.slice(0, 1), 1);
    let isDone = false;
    const completed = attack.complete().finally(() => {
      isDone = true;
    });
    let rounds = 0;
    for (; !isDone; rounds++) await stepAll(bystanders.slice(0, 1), 1);
    // The environment does not declare the member: each body is read, checked and refused.
    expect(await completed).toEqual(Array(12).fill(422));
    // One body at a time: the bystander is answered between two of them at least every second time.
    expect(rounds).toBeGreaterThanOrEqual(6);
    expect(await stepAll(bystanders.slice(0, 1), 1)).toBe(before + rounds + 1);
    expect(await stepAll(bystanders.slice(1), 1)).toBe((BYSTANDERS - 1) * 6);
    expect(lossesOf(server)).toEqual([]);
    await closeAll(bystanders);
  }, 120_000);

  test("stays below its ceiling with 90 unfinished frames of 15 MB, and closes those that make no progress", async () => {
    await using server = await startCluster({ MAX_CONCURRENT_ENVS: "120" });
    const bystanders = await openAll(server.url, BYSTANDERS);
    const pid = bystanders[0]?.pid as number;
    await using attack = await sendUnfinished(server.url, { peers: 90, bytes: 15 * MB });
    const closed = (): number => attack.peers.filter(({ socket }) => socket.destroyed).length;
    for (const { socket } of attack.peers) socket.resume();
    await until(() => closed() > 0);
    await sleep(1_000);
    expect(await stepAll(bystanders, 5)).toBe(BYSTANDERS * 5);
    // The 256 MB, what came before the next look, and what a process needs anyway.
    expect(peakMemory(pid)).toBeLessThan(1024 * MB);
    await closeAll(bystanders);
  }, 60_000);
});
