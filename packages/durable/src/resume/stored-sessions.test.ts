import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import * as z from "zod";
import { connectVector } from "#core/client/index.js";
import { connect } from "#core/connect.js";
import {
  defineContract,
  defineEnvironment,
  type EnvironmentDefinition,
  type ResetRequest,
  type StepContext,
} from "#core/index.js";
import { ownerName } from "#core/server/sqlite/owner.js";
import type { RunningServer, ServeOptions } from "#core/server/types.js";
import { FIRST_USE_MS } from "#core/session/registry/unclaimed.js";
import { speedUpTimers } from "../../../../test-support/fast-timers.js";
import { findFreePort } from "../../../../test-support/free-port.js";
import { useServers } from "../../../../test-support/servers/servers.js";
import { openBinarySocket } from "../../../../test-support/sockets/binary-socket.js";
import { BEGIN as begin, resumeWith, stepFrame, TOKEN } from "../../../../test-support/sockets/resumable.js";
import { startOwner } from "../../test/journal-contract.js";
import { openSqliteJournal } from "../journals/sqlite/sqlite-journal.js";

const servers = useServers();
const folder = await mkdtemp(join(tmpdir(), "openenv-journalled-"));
afterAll(() => rm(folder, { recursive: true, force: true }));
let journal = "";
let files = 0;
beforeEach(() => {
  journal = join(folder, `${++files}.db`);
});

const contract = defineContract({
  name: "tally_env",
  action: z.object({ amount: z.int() }),
  observation: z.object({ count: z.int(), luck: z.number() }),
});
let steps = 0;
/** Called when an environment is restored, which waits for it. */
let onRestore: () => void | Promise<void> = () => {};

/** A tally with random numbers, which each tier restores in its own way. */
function tally(tier: "snapshot" | "replay" | "none"): { environment: EnvironmentDefinition<typeof contract> } {
  const create = () => {
    let count = 0;
    return {
      reset: ({ rng }: ResetRequest) => ({ observation: { count: (count = 0), luck: rng.next() } }),
      step: ({ amount }: { amount: number }, { rng }: StepContext) => {
        steps++;
        if (amount === 13) throw new Error("unlucky");
        return { observation: { count: (count += amount), luck: rng.next() } };
      },
      ...(tier === "snapshot" && {
        snapshot: () => {
          if (count === 99) throw new Error("no room for 99");
          return { count };
        },
        restore: async (saved: unknown) => {
          await onRestore();
          ({ count } = saved as { count: number });
        },
      }),
    };
  };
  return { environment: defineEnvironment(contract, create, { seeded: tier === "replay" }) };
}

const { openSession, resume } = resumeWith(servers);
const step = (amount: number, seq: number, ack = seq - 1) => stepFrame(amount, seq, ack);

/** Stops a server and starts the next one at its port. */
async function restart(server: RunningServer, tier: Parameters<typeof tally>[0], options: ServeOptions = {}) {
  await server.close();
  return servers.start({ journal, port: server.port, ...options }, tally(tier));
}

const countsOf = (results: readonly (object | null)[]): unknown[] =>
  results.map((result) => result !== null && "observation" in result && result.observation);

describe.each(["snapshot", "replay"] as const)("a session that is restored by %s", (tier) => {
  test("continues after its server was stopped, as if nothing had happened", async () => {
    const play = async (disturb: (server: RunningServer) => Promise<RunningServer>) => {
      let server = await servers.start({ journal, port: await findFreePort() }, tally(tier));
      await using env = await connect(server.url, contract, { resume: true });
      const seen = [(await env.reset({ seed: 7 })).observation];
      for (const amount of [1, 2, 13, 3]) {
        const result = await env.tryStep({ amount });
        if ("error" in result) expect(result.error.code).toBe("EXECUTION_ERROR");
        else seen.push(result.observation);
        server = await disturb(server);
      }
      seen.push((await env.reset({ seed: 8 })).observation, (await env.step({ amount: 5 })).observation);
      server = await disturb(server);
      seen.push((await env.step({ amount: 5 })).observation);
      return seen;
    };
    const undisturbed = await play(async (server) => server);
    expect(undisturbed.map(({ count }) => count)).toEqual([0, 1, 3, 6, 0, 5, 10]);
    expect(await play((server) => restart(server, tier))).toEqual(undisturbed);
  });

  test("and its copies continue after their server was stopped", async () => {
    const server = await servers.start({ journal, port: await findFreePort() }, tally(tier));
    await using env = await connect(server.url, contract, { resume: true });
    await env.reset({ seed: 7 });
    await env.step({ amount: 1 });
    const copies = await env.fork(2);
    await copies[1]?.step({ amount: 0 });
    await restart(server, tier);
    const [one, two] = await Promise.all(copies.map((copy) => copy.step({ amount: 2 })));
    expect(one).toMatchObject({ observation: { count: 3 }, recovered: true });
    expect(two).toMatchObject({ observation: { count: 3 }, recovered: true });
    expect((await env.step({ amount: 2 })).observation).toEqual(one?.observation);
    expect((await env.step({ amount: 0 })).observation.luck).toBe(two?.observation.luck);
    await Promise.all(copies.map((copy) => copy.close()));
  });

  test("answers a repeated request from the journal, and keeps its id and token", async () => {
    const server = await servers.start({ journal, port: await findFreePort() }, tally(tier));
    const { socket, id } = await openSession(server);
    const first = await socket.ask(step(4, 2));
    steps = 0;
    const next = await restart(server, tier);
    const [, stranger] = await resume(next, id, "another token");
    expect(stranger).toMatchObject({ recovered: false, reason: "the token is not that of the session" });
    const [socketOfOwn, own] = await resume(next, id);
    expect(own).toMatchObject({ session_id: id, recovered: true, last_seq: 2 });
    expect(await socketOfOwn.ask(step(4, 2))).toEqual(first);
    expect(steps).toBe(tier === "replay" ? 1 : 0);
    expect(await socketOfOwn.ask(step(1, 3))).toMatchObject({ data: { observation: { count: 5 } } });
    expect(await socketOfOwn.ask(step(4, 2))).toMatchObject({ data: { code: "ANSWER_EXPIRED" } });
  });

  test("continues in a batch, with the numbers of its sessions", async () => {
    const play = async (disturb: (server: RunningServer) => Promise<RunningServer>) => {
      let server = await servers.start({ journal, port: await findFreePort() }, tally(tier));
      await using envs = await connectVector(server.url, contract, { size: 3, resume: true });
      const seen = [countsOf(await envs.reset({ seed: 7 }))];
      for (const amount of [1, 2]) {
        server = await disturb(server);
        seen.push(countsOf(await envs.step(Array(3).fill({ amount }))));
      }
      return seen;
    };
    const undisturbed = await play(async (server) => server);
    expect(undisturbed.at(-1)).toMatchObject([{ count: 3 }, { count: 3 }, { count: 3 }]);
    expect(await play((server) => restart(server, tier))).toEqual(undisturbed);
  });

  test("holds its slot before newcomers", async () => {
    const server = await servers.start({ journal, port: await findFreePort(), maxConcurrentEnvs: 1 }, tally(tier));
    await using env = await connect(server.url, contract, { resume: true });
    await env.reset();
    const next = await restart(server, tier, { maxConcurrentEnvs: 1 });
    for (const resume of [false, true]) {
      const other = connect(next.url, contract, { resume }).then((client) => client.reset());
      await expect(other).rejects.toMatchObject({ code: "CAPACITY_REACHED" });
    }
    expect((await env.step({ amount: 2 })).observation.count).toBe(2);
  });
});

test("the sessions of a batch are restored in separate turns of the event loop", async () => {
  const SIZE = 10;
  const server = await servers.start({ journal, port: await findFreePort() }, tally("snapshot"));
  await using envs = await connectVector(server.url, contract, { size: SIZE, resume: true });
  await envs.reset({ seed: 7 });
  let turn = 0;
  const turns: number[] = [];
  let ticking = setImmediate(function tick() {
    turn++;
    ticking = setImmediate(tick);
  });
  onTestFinished(() => {
    clearImmediate(ticking);
    onRestore = () => {};
  });
  onRestore = () => void turns.push(turn);
  await restart(server, "snapshot");
  expect(countsOf(await envs.step(Array(SIZE).fill({ amount: 1 })))).toMatchObject(Array(SIZE).fill({ count: 1 }));
  expect(turns).toHaveLength(SIZE);
  expect(new Set(turns).size).toBe(SIZE);
});

test("a batch of which one session has no snapshot is lost, and never one step behind", async () => {
  const server = await servers.start({ journal, port: await findFreePort() }, tally("snapshot"));
  await using envs = await connectVector(server.url, contract, { size: 2, resume: true });
  await envs.reset();
  expect(countsOf(await envs.step([{ amount: 99 }, { amount: 1 }]))).toMatchObject([{ count: 99 }, { count: 1 }]);
  await restart(server, "snapshot");
  const next = await envs.step(Array(2).fill({ amount: 1 }));
  expect(next).toMatchObject(Array(2).fill({ outcome: "lost", error: { code: "SESSION_LOST" } }));
});

test("a seeded session that could not be replayed for a while is restored after its next reset", async () => {
  const server = await servers.start({ journal, port: await findFreePort() }, tally("replay"));
  await using env = await connect(server.url, contract, { resume: true });
  await env.reset({ seed: 7 });
  const [copy] = await env.fork(1, { rng: "split" });
  await copy?.step({ amount: 1 });
  await copy?.reset({ seed: 8 });
  await copy?.step({ amount: 2 });
  await restart(server, "replay");
  expect((await copy?.step({ amount: 3 }))?.observation.count).toBe(5);
  await copy?.close();
});

test("a session without a way to restore it says so", async () => {
  const server = await servers.start({ journal, port: await findFreePort() }, tally("none"));
  const { id } = await openSession(server);
  const next = await restart(server, "none");
  const [, answer] = await resume(next, id);
  expect(answer).toMatchObject({
    recovered: false,
    reason: "the environment declares neither snapshot() and restore() nor seeded: true",
  });
});

test("a session that cannot be restored holds no slot after a restart", async () => {
  const server = await servers.start({ journal, port: await findFreePort() }, tally("none"));
  const { id } = await openSession(server);
  await using other = await openSqliteJournal({ path: journal, durability: "process", owner: ownerName("") });
  expect(await other.list()).toMatchObject([{ id, ended: { reason: expect.stringContaining("neither snapshot()") } }]);
});

test("a session whose client leaves while it is restored waits for the next connection", async () => {
  const server = await servers.start({ journal, port: await findFreePort() }, tally("snapshot"));
  const { id } = await openSession(server);
  const next = await restart(server, "snapshot");
  const gone = await servers.open(next, `/ws?openenv=resume&session_id=${id}`);
  gone.send({ type: "resume", data: { token: TOKEN } });
  gone.ws.close();
  await expect.poll(() => next.sessions()).toMatchObject([{ session_id: id, attached: false }]);
  const [, answer] = await resume(next, id);
  expect(answer).toMatchObject({ recovered: true, last_seq: 1 });
});

test("a client waits for a session that is restored for longer than a first frame may take", async () => {
  const server = await servers.start({ journal, port: await findFreePort() }, tally("snapshot"));
  const { id } = await openSession(server);
  await server.close();
  let go: (() => void) | undefined;
  onRestore = () => new Promise<void>((resolve) => (go = resolve));
  const next = await servers.start({ journal, port: await findFreePort() }, tally("snapshot"));
  // Five seconds are left for the first frame.
  speedUpTimers(2);
  const resumed = resume(next, id);
  await expect.poll(() => go).toBeDefined();
  // Ends after the timers of the same length that began before.
  await new Promise((resolve) => setTimeout(resolve, FIRST_USE_MS));
  go?.();
  onRestore = () => {};
  expect((await resumed)[1]).toMatchObject({ recovered: true, last_seq: 1 });
});

test("a session that has had no request is opened again", async () => {
  const server = await servers.start({ journal, port: await findFreePort() }, tally("none"));
  const socket = await servers.open(server, "/ws?openenv=resume");
  const { data } = (await socket.ask(begin)) as { data: { session_id: string } };
  const next = await restart(server, "none");
  const [, answer] = await resume(next, data.session_id);
  expect(answer).toMatchObject({ recovered: true, last_seq: 0 });
});

test("a binary request is repeated as text after a restart", async () => {
  const server = await servers.start({ journal, port: await findFreePort() }, tally("snapshot"));
  const packed = await openBinarySocket(`${server.url}/ws?openenv=binary,resume`);
  const { frame } = await packed.ask(JSON.stringify(begin));
  const { session_id } = frame["data"] as { session_id: string };
  await packed.askPacked({ type: "reset", seq: 1, ack: 0 });
  await packed.askPacked(step(4, 2, 0));
  const next = await restart(server, "snapshot");
  const [socket] = await resume(next, session_id);
  expect(await socket.ask(step(5, 2, 0))).toMatchObject({ data: { code: "SEQUENCE_CONFLICT" } });
});

test("an ended session says why after a restart", async () => {
  const server = await servers.start({ journal, port: await findFreePort() }, tally("snapshot"));
  const { socket, id } = await openSession(server);
  socket.send({ type: "close" });
  await socket.closed;
  const next = await restart(server, "snapshot");
  expect((await resume(next, id))[1]).toMatchObject({ recovered: false, reason: "closed by the client" });
  expect((await resume(next, "unknown"))[1]).toMatchObject({
    recovered: false,
    reason: "the server does not know the session",
  });
});

test("a close with a number, first after an instance that was lost, ends the session", async () => {
  const server = await servers.start({ journal, port: await findFreePort() }, tally("snapshot"));
  const { socket: first, id } = await openSession(server);
  await using other = await openSqliteJournal({ path: journal, durability: "process", owner: ownerName("") });
  await other.takeOver(id);
  first.send(step(1, 2));
  await first.closed;
  const [socket] = await resume(server, id);
  socket.send({ type: "close", seq: 2, ack: 1 });
  expect((await socket.closed).code).toBe(1000);
  expect(server.capacity().active_sessions).toBe(0);
});

test("a restore that hangs is refused after REPLAY_TIMEOUT, and the session is kept for another server", async () => {
  const server = await servers.start({ journal }, tally("snapshot"));
  const { socket, id } = await openSession(server);
  await socket.ask(step(1, 2));
  await server.close();
  onRestore = () => new Promise<void>(() => {});
  const slow = await servers.start({ journal, replayTimeout: 0.1 }, tally("snapshot"));
  const [, answer] = await resume(slow, id);
  expect(answer).toMatchObject({
    recovered: false,
    reason: "restore() took more than 0.1 s: raise REPLAY_TIMEOUT",
  });
  expect(await slow.sessions()).toEqual([]);
  onRestore = () => {};
  expect((await resume(slow, id))[1]).toMatchObject({ recovered: true });
});

test("an instance whose session was taken over sends nothing and is closed", async () => {
  const server = await servers.start({ journal, port: await findFreePort() }, tally("snapshot"));
  const { socket, id } = await openSession(server);
  await using other = await openSqliteJournal({ path: journal, durability: "process", owner: ownerName("") });
  expect(await other.takeOver(id)).toMatchObject({ epoch: 2 });
  socket.send(step(1, 2));
  expect((await socket.closed).code).toBe(1012);
  await expect.poll(() => server.capacity().active_sessions).toBe(0);
  const [next, answer] = await resume(server, id);
  expect(answer).toMatchObject({ recovered: true, last_seq: 1 });
  expect(await next.ask(step(1, 2))).toMatchObject({ data: { observation: { count: 1 } } });
});

test("a session of another server that lives is elsewhere", async () => {
  await using owner = startOwner();
  await using other = await openSqliteJournal({ path: journal, durability: "process", owner: owner.name });
  await other.create("elsewhere", begin.data.token_hash);
  const server = await servers.start({ journal, port: await findFreePort() }, tally("snapshot"));
  const [socket, answer] = await resume(server, "elsewhere");
  expect(answer).toMatchObject({ code: "SESSION_ELSEWHERE" });
  expect((await socket.closed).code).toBe(1013);
  await owner.kill();
  expect((await resume(server, "elsewhere"))[1]).toMatchObject({ recovered: true });
});

test.each([
  ["an address of another kind", { journal: "http://127.0.0.1" }],
  ["a durability that does not exist", { journal: "x.db", journalDurability: "tape" as "disk" }],
])("a journal with %s is refused at the start", async (_what, options) => {
  await expect(servers.start(options, tally("none"))).rejects.toMatchObject({ code: "INVALID_CONFIG" });
});
