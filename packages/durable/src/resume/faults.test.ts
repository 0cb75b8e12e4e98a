/** What may go wrong with a resumable session: each fault ends in a correct answer or a typed error. */
import { createHash } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, onTestFinished, test, vi } from "vitest";
import * as z from "zod";
import { connect } from "#core/connect.js";
import { defineContract, defineEnvironment } from "#core/index.js";
import { counterContract, defineCounter } from "../../../../test-support/environments/counter.js";
import { copyFileJournal } from "../../../../test-support/journals/file-journal.js";
import { startGateway } from "../../../../test-support/proxies/gateway.js";
import { useServers, waitFor } from "../../../../test-support/servers/servers.js";
import {
  codeOf as code,
  countOf as count,
  resumeWith,
  stepFrame as step,
  TOKEN,
} from "../../../../test-support/sockets/resumable.js";

const servers = useServers();
const { openSession, resume } = resumeWith(servers);

/** A counter whose steps wait until they are let through. */
function defineGate() {
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => (open = resolve));
  const log = { begun: 0, closed: 0 };
  const environment = defineEnvironment(counterContract, () => {
    let count = 0;
    return {
      reset: () => ({ observation: { count: (count = 0) } }),
      step: async ({ amount }) => {
        log.begun++;
        await opened;
        return { observation: { count: (count += amount) } };
      },
      close: () => void log.closed++,
    };
  });
  return { environment, log, open: () => open() };
}

describe("the token of a session", () => {
  test.each([
    ["is missing", {}],
    ["is no text", { token: 7 }],
    ["is endless", { token: "x".repeat(100_000) }],
  ])("that %s is refused, and may be sent correctly afterwards", async (_what, data) => {
    const server = await servers.start();
    const { socket, id } = await openSession(server);
    const other = await servers.open(server, `/ws?openenv=resume&session_id=${id}`);
    expect(code(await other.ask({ type: "resume", data }))).toBe("VALIDATION_ERROR");
    expect(code(await other.ask(step(5, 2, 1)))).toBe("VALIDATION_ERROR");
    expect(count(await socket.ask(step(1, 2, 1)))).toBe(1);
    expect(await other.ask({ type: "resume", data: { token: TOKEN } })).toMatchObject({ data: { recovered: true } });
    expect(count(await other.ask(step(1, 3, 2)))).toBe(2);
  });

  test("opens no other session, and neither of the two is disturbed", async () => {
    const server = await servers.start();
    const { socket: first, id } = await openSession(server);
    const second = await servers.open(server, "/ws?openenv=resume");
    const token_hash = createHash("sha256").update("the other token").digest("hex");
    const { data } = (await second.ask({ type: "resume", data: { token_hash } })) as { data: { session_id: string } };
    await second.ask({ type: "reset", data: { start: 50 }, seq: 1, ack: 0 });
    const reason = "the token is not that of the session";
    for (const [which, token] of [
      [id, "the other token"],
      [data.session_id, TOKEN],
    ] as const) {
      const [thief, answer] = await resume(server, which, token);
      expect(answer).toMatchObject({ recovered: false, reason });
      expect((await thief.closed).code).toBe(4000);
    }
    expect(count(await first.ask(step(1, 2, 1)))).toBe(1);
    expect(count(await second.ask(step(1, 2, 1)))).toBe(51);
  });

  test("that was stolen takes the session, which its client notices and takes back with nothing lost", async () => {
    const counter = defineCounter();
    const server = await servers.start({}, counter);
    const { socket, id } = await openSession(server);
    await socket.ask(step(2, 2, 1));
    const [thief, answer] = await resume(server, id);
    expect(answer).toMatchObject({ recovered: true });
    expect((await socket.closed).code).toBe(4001);
    expect(count(await thief.ask(step(3, 3, 2)))).toBe(5);
    const [own, back] = await resume(server, id);
    // It sees that a request was sent that is not its own.
    expect(back).toMatchObject({ recovered: true, last_seq: 3 });
    expect((await thief.closed).code).toBe(4001);
    expect(code(await own.ask(step(1, 3, 2)))).toBe("SEQUENCE_CONFLICT");
    expect(count(await own.ask(step(1, 4, 3)))).toBe(6);
    expect(counter.log.created).toBe(1);
  });
});

test("two clients with one token never execute two requests under one number", async () => {
  const server = await servers.start();
  const { id } = await openSession(server);
  const executed = new Map<number, number>();
  const play = async (amount: number): Promise<void> => {
    for (let round = 0; round < 20; round++) {
      const [socket, { last_seq }] = await resume(server, id);
      const seq = Number(last_seq) + 1;
      // The other may take its socket, before or after the request is executed.
      const answer = await socket.ask(step(amount, seq, 1)).catch(() => undefined);
      if (answer === undefined || code(answer) === "SEQUENCE_CONFLICT") continue;
      expect(answer["type"]).toBe("observation");
      expect(executed.has(seq)).toBe(false);
      executed.set(seq, amount);
    }
  };
  await Promise.all([play(1), play(2)]);
  const [last, { last_seq }] = await resume(server, id);
  const steps = Number(last_seq) - 1;
  const { data } = await last.ask({ type: "state", seq: steps + 2, ack: 1 });
  expect(data).toMatchObject({ step_count: steps });
  const known = [...executed.values()].reduce((all, one) => all + one, 0);
  const { total } = data as { total: number };
  expect(total).toBeGreaterThanOrEqual(known + (steps - executed.size));
  expect(total).toBeLessThanOrEqual(known + 2 * (steps - executed.size));
});

test("a client comes again when a proxy has sent its connection twice and the copy arrived first", async () => {
  const server = await servers.start();
  await using gateway = await startGateway(server, "passes");
  await using env = await connect(gateway.url, counterContract, { resume: true });
  await env.reset();
  gateway.turn("passes twice");
  gateway.cut();
  const before = gateway.connections;
  const step = env.step({ amount: 4 });
  await waitFor(() => gateway.connections > before);
  gateway.turn("passes");
  expect(await step).toMatchObject({ observation: { count: 4 }, recovered: true });
  expect(gateway.connections).toBe(before + 2);
  expect(await env.state()).toMatchObject({ step_count: 1 });
});

test("nothing that the first connection sent after a step in flight is executed", async () => {
  const gate = defineGate();
  const server = await servers.start({}, gate);
  const { socket, id } = await openSession(server);
  socket.send(step(5, 2, 1), step(7, 3, 1));
  await waitFor(() => gate.log.begun === 1);
  const [next] = await resume(server, id);
  gate.open();
  expect(count(await next.ask(step(5, 2, 1)))).toBe(5);
  expect(count(await next.ask(step(1, 3, 2)))).toBe(6);
  expect(gate.log.begun).toBe(2);
});

describe("in a storm of connections", () => {
  test("of one client the last one has the session, and its request is executed once", async () => {
    const gate = defineGate();
    const server = await servers.start({}, gate);
    const { socket, id } = await openSession(server);
    socket.send(step(5, 2, 1));
    await waitFor(() => gate.log.begun === 1);
    const storm = Array.from({ length: 100 }, async (_, attempt) => {
      const next = await servers.open(server, `/ws?openenv=resume&session_id=${id}`);
      next.send({ type: "resume", data: { token: TOKEN, attempt } }, step(5, 2, 1));
      const { data } = (await next.receive()) as { data: { recovered: boolean; reason?: string } };
      return { next, data };
    });
    const arrived = await Promise.all(storm);
    const refused = arrived.filter(({ data }) => !data.recovered);
    for (const { data } of refused) expect(data.reason).toBe("a later connection has resumed the session");
    const codes = await Promise.all(arrived.slice(0, -1).map(async ({ next }) => (await next.closed).code));
    expect(new Set(codes)).toEqual(refused.length > 0 ? new Set([4001, 4000]) : new Set([4001]));
    gate.open();
    const last = arrived.at(-1)?.next;
    expect(count((await last?.receive()) ?? {})).toBe(5);
    expect(count((await last?.ask(step(1, 3, 2))) ?? {})).toBe(6);
    expect(gate.log).toEqual({ begun: 2, closed: 0 });
    expect(server.capacity().active_sessions).toBe(1);
  });

  test("of many clients each continues its own session", async () => {
    const counter = defineCounter();
    const server = await servers.start({ maxConcurrentEnvs: 64 }, counter);
    await using gateway = await startGateway(server, "passes");
    const envs = await Promise.all(
      Array.from({ length: 64 }, () => connect(gateway.url, counterContract, { resume: true })),
    );
    await Promise.all(envs.map((env) => env.reset()));
    for (let round = 1; round <= 5; round++) {
      const steps = envs.map((env, nth) => env.step({ amount: nth % 10 }));
      gateway.cut();
      const results = await Promise.all(steps);
      expect(results.map(({ recovered }) => recovered)).toEqual(envs.map(() => true));
    }
    const states = await Promise.all(envs.map((env) => env.state()));
    expect(states.map(({ step_count, total }) => [step_count, total])).toEqual(
      envs.map((_, nth) => [5, 5 * (nth % 10)]),
    );
    expect(counter.log).toMatchObject({ created: 64, closed: 0 });
    await Promise.all(envs.map((env) => env.close()));
  });
});

describe("a window that ends", () => {
  test("while a step runs waits for the step, and its answer can be fetched", async () => {
    const gate = defineGate();
    vi.useFakeTimers({ toFake: ["Date", "performance", "setInterval", "clearInterval"] });
    onTestFinished(() => void vi.useRealTimers());
    const server = await servers.start({ sessionTimeout: 20 }, gate);
    const { socket, id } = await openSession(server);
    socket.send(step(5, 2, 1));
    await waitFor(() => gate.log.begun === 1);
    socket.ws.terminate();
    await expect.poll(async () => (await server.sessions())[0]?.attached).toBe(false);
    // A session is kept for two windows while a step runs.
    vi.advanceTimersByTime(30_000);
    const [next, answer] = await resume(server, id);
    expect(answer).toMatchObject({ recovered: true, last_seq: 2 });
    gate.open();
    expect(count(await next.ask(step(5, 2, 1)))).toBe(5);
    expect(gate.log).toEqual({ begun: 1, closed: 0 });
  });

  test("while its client returns is a typed answer, and the slot is free", async () => {
    let release = (): void => {};
    const released = new Promise<void>((resolve) => (release = resolve));
    let closing = 0;
    const environment = defineEnvironment(counterContract, () => ({
      reset: () => ({ observation: { count: 0 } }),
      step: () => ({ observation: { count: 1 } }),
      close: () => {
        closing++;
        return released;
      },
    }));
    const server = await servers.start({ sessionTimeout: 0.2 }, { environment });
    const { socket, id } = await openSession(server);
    socket.ws.terminate();
    await waitFor(() => closing === 1);
    const [late, answer] = await resume(server, id);
    expect(answer).toMatchObject({ recovered: false, reason: "was not resumed in time" });
    expect((await late.closed).code).toBe(4000);
    release();
    await expect.poll(() => server.capacity().active_sessions).toBe(0);
  });
});

describe("a snapshot", async () => {
  const folder = await mkdtemp(join(tmpdir(), "openenv-faults-"));
  afterAll(() => rm(folder, { recursive: true, force: true }));
  let files = 0;

  const contract = defineContract({
    name: "saves_env",
    action: z.object({ amount: z.int() }),
    observation: z.object({ count: z.int() }),
  });
  const other = defineContract({ ...contract, observation: z.object({ count: z.int(), more: z.int().optional() }) });

  /** A tally whose snapshot with the count 9 is what `save` makes. */
  function tally(save: (saved: { count: number }) => unknown, snapshotVersion = 1, of = contract) {
    const environment = defineEnvironment(
      of,
      () => {
        let count = 0;
        return {
          reset: () => ({ observation: { count: (count = 0) } }),
          step: ({ amount }) => ({ observation: { count: (count += amount) } }),
          snapshot: () => (count === 9 ? save({ count }) : { count }),
          restore: (saved: unknown) => void ({ count } = saved as { count: number }),
        };
      },
      { snapshotVersion },
    );
    return { environment };
  }

  test.each<[string, string, () => unknown]>([
    ["throws", "no film", () => expect.unreachable("no film")],
    ["rejects", "no film", () => Promise.reject(new Error("no film"))],
    ["is not serialisable", "snapshot.seen: Map has no JSON form", () => ({ seen: new Map() })],
    ["is huge", "the limit is 67108864", () => new Uint8Array(64 * 1024 * 1024 + 1)],
  ])("that %s costs no answer; its session is not restored from an older one", async (_how, why, save) => {
    const journal = join(folder, `${++files}.db`);
    const served = tally(save);
    const server = await servers.start({ journal }, served);
    const { socket: bad, id: badId } = await openSession(server);
    expect(count(await bad.ask(step(4, 2, 1)))).toBe(4);
    expect(count(await bad.ask(step(5, 3, 2)))).toBe(9);
    const { socket: good, id: goodId } = await openSession(server);
    await good.ask(step(9, 2, 1));
    // It can be restored again from the next snapshot on.
    expect(count(await good.ask(step(1, 3, 2)))).toBe(10);
    const copy = join(folder, `${++files}.db`);
    await copyFileJournal(journal, copy);
    const next = await servers.start({ journal: copy }, served);
    const [, lost] = await resume(next, badId);
    expect(lost).toMatchObject({ recovered: false, reason: expect.stringContaining(why) });
    const [again, kept] = await resume(next, goodId);
    expect(kept).toMatchObject({ recovered: true, last_seq: 3 });
    expect(count(await again.ask(step(1, 4, 3)))).toBe(11);
  });

  test("of another version or contract is refused with both, and is kept for a server that reads it", async () => {
    const journal = join(folder, `${++files}.db`);
    const save = (saved: unknown) => saved;
    const first = await servers.start({ journal }, tally(save, 1));
    const { socket, id } = await openSession(first);
    const answered = await socket.ask(step(4, 2, 1));
    await first.close();
    const second = await servers.start({ journal }, tally(save, 2));
    const reason = "the session was saved with snapshotVersion 1, but the server has 2";
    expect((await resume(second, id))[1]).toMatchObject({ recovered: false, reason });
    await second.close();
    const third = await servers.start({ journal }, tally(save, 1, other as unknown as typeof contract));
    const hashes = await Promise.all([contract, other].map(async (one) => (await one.fingerprint()).hash));
    const both = `the session was saved with the contract ${hashes[0]}, but the server has ${hashes[1]}`;
    expect((await resume(third, id))[1]).toMatchObject({ recovered: false, reason: both });
    await third.close();
    const last = await servers.start({ journal }, tally(save, 1));
    const [back, answer] = await resume(last, id);
    expect(answer).toMatchObject({ recovered: true, last_seq: 2 });
    expect(await back.ask(step(4, 2, 1))).toEqual(answered);
    expect(count(await back.ask(step(1, 3, 2)))).toBe(5);
  });
});
