import { describe, expect, test } from "vitest";
import * as z from "zod";
import { counterContract, defineCounter } from "../../../../../test-support/environments/counter.js";
import { useServers, waitFor } from "../../../../../test-support/servers/servers.js";
import { openBinarySocket } from "../../../../../test-support/sockets/binary-socket.js";
import type { TestSocket } from "../../../../../test-support/sockets/socket.js";
import { defineContract, defineEnvironment } from "../../index.js";
import { type BatchMethod, MAX_BATCH_ITEMS } from "../../protocol/batch.js";
import { Batch } from "../../session/batch.js";
import { Sessions } from "../../session/registry/sessions.js";
import { createRuntime } from "../../session/runtime.js";
import { answerBatch } from "./batch-protocol.js";

const { start, open } = useServers();

interface Reply {
  type: string;
  data: Record<string, unknown>;
}

/** The items of the answer to a batch frame. */
async function many(socket: TestSocket, type: string, data: unknown): Promise<Reply[]> {
  const answer = await socket.ask({ type, data });
  expect(answer, JSON.stringify(answer)).toMatchObject({ type: "many" });
  return (answer["data"] as { items: Reply[] }).items;
}

async function openSessions(socket: TestSocket, count: number): Promise<number[]> {
  const items = await many(socket, "open_many", { count });
  return items.filter(({ type }) => type === "opened").map(({ data }) => data["session"] as number);
}

const items = (sessions: number[], data?: (session: number) => unknown) => ({
  items: sessions.map((session) => (data ? { session, data: data(session) } : { session })),
});

/** A counter whose steps end once `size` steps have started. */
function meetingPoint(size: number) {
  const waiting: (() => void)[] = [];
  const environment = defineEnvironment(counterContract, () => ({
    reset: () => ({ observation: { count: 0 } }),
    step: async ({ amount }) => {
      await new Promise<void>((resolve) => {
        if (waiting.push(resolve) === size) for (const go of waiting) go();
      });
      return { observation: { count: amount }, reward: amount };
    },
  }));
  return { environment };
}

describe("the extension batch", () => {
  test("returns what each item saw, even if environments share a list and change it in place", async () => {
    const contract = defineContract({
      name: "board_env",
      action: z.object({}),
      observation: z.object({ cells: z.array(z.int()), free: z.unknown() }),
    });
    const cells = [0];
    const show = () => ({ observation: { cells, free: { cells } }, metadata: { cells } });
    const environment = defineEnvironment(contract, () => ({
      reset: show,
      step: () => {
        cells[0] = (cells[0] ?? 0) + 1;
        return show();
      },
    }));
    const server = await start({}, { environment } as unknown as Parameters<typeof start>[1]);
    const socket = await open(server, "/ws?openenv=batch");
    const [one = 0, two = 0] = await openSessions(socket, 2);
    await many(socket, "reset_many", items([one, two]));
    const steps = await many(
      socket,
      "step_many",
      items([one, two, one], () => ({})),
    );
    const seen = steps.map(({ data }) => data["observation"]);
    expect(seen).toEqual([1, 2, 3].map((n) => ({ cells: [n], free: { cells: [n] }, metadata: { cells: [n] } })));
  });

  test("steps many separate sessions in one frame, and answers in the order of the items", async () => {
    const server = await start();
    const socket = await open(server, "/ws?openenv=batch");
    expect(server.capacity().active_sessions).toBe(0);
    const opened = await socket.ask({ type: "open_many", data: { count: 3 } });
    expect(opened).toEqual({
      type: "many",
      data: { items: [0, 1, 2].map((session) => ({ type: "opened", data: { session } })) },
      openenv: { extensions: ["batch"] },
    });
    expect(server.capacity().active_sessions).toBe(3);
    await many(
      socket,
      "reset_many",
      items([2, 0, 1], (session) => ({ start: session * 10, episode_id: `ep-${session}` })),
    );
    const stepped = await many(
      socket,
      "step_many",
      items([1, 2, 0], (session) => ({ amount: session + 1 })),
    );
    expect(stepped.map(({ data }) => [data["observation"], data["reward"], data["done"]])).toEqual([
      [{ count: 12, metadata: {} }, 2, true],
      [{ count: 23, metadata: {} }, 3, true],
      [{ count: 1, metadata: {} }, 1, false],
    ]);
    const states = await many(socket, "state_many", items([0, 1, 2]));
    expect(states.map(({ data }) => data["episode_id"])).toEqual(["ep-0", "ep-1", "ep-2"]);
    expect(await many(socket, "close_many", items([1]))).toEqual([{ type: "closed", data: {} }]);
    expect(server.capacity().active_sessions).toBe(2);
  });

  test("runs the items of a frame concurrently, and those of one session one after the other", async () => {
    const server = await start({}, meetingPoint(40));
    const socket = await open(server, "/ws?openenv=batch");
    const sessions = await openSessions(socket, 40);
    await many(socket, "reset_many", items(sessions));
    // No step ends before all forty have started.
    const met = await many(
      socket,
      "step_many",
      items(sessions, () => ({ amount: 1 })),
    );
    expect(met.every(({ data }) => data["reward"] === 1)).toBe(true);

    const ordered = await start();
    const other = await open(ordered, "/ws?openenv=batch");
    await openSessions(other, 1);
    await many(other, "reset_many", items([0]));
    const again = await many(
      other,
      "step_many",
      items([0, 0, 0], () => ({ amount: 50 })),
    );
    expect(again.map(({ data }) => (data["observation"] as { count: number }).count)).toEqual([50, 100, 150]);
  });

  test("a failing item does not affect the others", async () => {
    const server = await start({ maxMessageBytes: 1024 * 1024 });
    const socket = await open(server, "/ws?openenv=batch");
    await openSessions(socket, 2);
    await many(socket, "reset_many", items([0, 1]));
    const replies = await many(socket, "step_many", {
      items: [
        { session: 0, data: { amount: 1 } },
        { session: 0, data: { amount: 13 } },
        { session: 0, data: { amount: "x" } },
        { session: 0, data: { amount: 70 } },
        { session: 0 },
        { session: 0, data: 1 },
        { session: 0, data: { amount: 1 }, extra: 1 },
        { session: 7, data: { amount: 1 } },
        { session: "0", data: { amount: 1 } },
        { data: { amount: 1 } },
        17,
        null,
        { session: 1, data: { amount: 2 } },
      ],
    });
    expect(replies.map(({ data }) => data["code"] ?? data["reward"])).toEqual([
      1,
      "EXECUTION_ERROR",
      "VALIDATION_ERROR",
      "EXECUTION_ERROR",
      ...Array(3).fill("VALIDATION_ERROR"),
      "SESSION_ERROR",
      ...Array(4).fill("VALIDATION_ERROR"),
      2,
    ]);
  });

  test("an error names its session and the step of the episode, and so does the log", async () => {
    const lines: Record<string, unknown>[] = [];
    const keep = (fields: object, msg: string) => void lines.push({ ...fields, msg });
    const environment = defineEnvironment(counterContract, () => {
      let count = 0;
      return {
        reset: ({ start: first = 0 }) => {
          if (first === 13) throw new Error("no episode");
          return { observation: { count: (count = first) } };
        },
        step: async ({ amount }) => {
          await new Promise((resolve) => setImmediate(resolve));
          // The number of such an observation does not fit the contract.
          if (amount === 12) return { observation: { count: "many" as unknown as number } };
          if (amount === 13) throw new Error("unlucky");
          return { observation: { count: (count += amount) } };
        },
      };
    });
    const runtime = createRuntime(environment, { log: { debug: keep, info: keep, warn: keep, error: keep } });
    const batch = new Batch(new Sessions(runtime, { maxConcurrentEnvs: 10, sessionTimeoutMs: null }));
    const ask = async (type: BatchMethod, sent: unknown[]) => {
      const { data } = await answerBatch(batch, { type, data: { items: sent } }, {});
      return data.items.map((reply) => {
        const { code, session, step } = reply.data as unknown as Record<string, unknown>;
        return code === undefined ? reply.type : [code, session, step];
      });
    };
    for (let i = 0; i < 3; i++) expect(await batch.open()).toMatchObject({ type: "opened" });
    const step = (session: number, amount: unknown) => ({ session, data: { amount } });
    expect(await ask("reset_many", [{ session: 0 }, { session: 1 }, { session: 2, data: { start: 13 } }])).toEqual([
      ...["observation", "observation"],
      ["EXECUTION_ERROR", 2, 0],
    ]);
    // The steps of one session run one after the other, and other ones meanwhile.
    const frame = [step(0, 1), step(1, 1), step(0, 13), step(1, "x"), step(0, 1), step(0, 13), step(2, 1), step(9, 1)];
    expect(await ask("step_many", [...frame, step(1, 12), { session: 1 }, step(1, 13), { data: {} }])).toEqual([
      ...["observation", "observation"],
      ["EXECUTION_ERROR", 0, 2],
      ["VALIDATION_ERROR", 1, 2],
      "observation",
      ["EXECUTION_ERROR", 0, 3],
      ["EXECUTION_ERROR", 2, 1],
      ["SESSION_ERROR", 9, undefined],
      ["EXECUTION_ERROR", 1, 2],
      ["VALIDATION_ERROR", 1, undefined],
      ["EXECUTION_ERROR", 1, 3],
      ["VALIDATION_ERROR", undefined, undefined],
    ]);
    const failures = lines.filter(({ msg }) => String(msg).startsWith("the environment failed"));
    const places = failures.map(({ member, step, msg }) => `${member}:${step} ${String(msg).split(" ").at(-1)}`);
    expect(places.sort()).toEqual(["0:2 step", "0:3 step", "1:2 step", "1:3 step", "2:0 reset"]);
    batch.end("the test is over");
  });

  test("an answer that cannot be encoded affects only its item", async () => {
    const server = await start();
    const socket = await open(server, "/ws?openenv=batch");
    await openSessions(socket, 2);
    const half = "\\ud800";
    const frame = `{"type":"reset_many","data":{"items":[{"session":0,"data":{"episode_id":"${half}"}},{"session":1}]}}`;
    await socket.ask(frame);
    const states = await many(socket, "state_many", items([0, 1]));
    expect(states.map(({ type }) => type)).toEqual(["error", "state"]);
  });

  test("rejections are reported for each item, and a freed slot can be used again", async () => {
    const server = await start({ maxConcurrentEnvs: 3 });
    const socket = await open(server, "/ws?openenv=batch");
    const replies = await many(socket, "open_many", { count: 5 });
    expect(replies.map(({ type, data }) => data["code"] ?? type)).toEqual([
      "opened",
      "opened",
      "opened",
      "CAPACITY_REACHED",
      "CAPACITY_REACHED",
    ]);
    await many(socket, "close_many", items([0, 0]));
    expect(await openSessions(socket, 2)).toEqual([3]);
  });

  test("frames have limits, and an invalid frame gets one error", async () => {
    const server = await start({ maxConcurrentEnvs: 2_000 });
    const socket = await open(server, "/ws?openenv=batch");
    const tooMany = Array(MAX_BATCH_ITEMS + 1).fill({ session: 0 });
    for (const frame of [
      { type: "open_many", data: { count: MAX_BATCH_ITEMS + 1 } },
      { type: "open_many", data: { count: 0 } },
      { type: "open_many", data: { count: 1.5 } },
      { type: "open_many", data: { count: 1, more: 2 } },
      { type: "open_many", data: {} },
      { type: "open_many" },
      { type: "state_many", data: { items: tooMany } },
      { type: "state_many", data: { items: {} } },
      { type: "state_many", data: [] },
      { type: "state_many", data: { items: [] }, more: 1 },
    ]) {
      expect(await socket.ask(frame), JSON.stringify(frame).slice(0, 80)).toMatchObject({
        type: "error",
        data: { code: "VALIDATION_ERROR" },
      });
    }
    expect(await socket.ask({ type: "step_some", data: {} })).toMatchObject({ data: { code: "UNKNOWN_TYPE" } });
    expect(await socket.ask({ type: "step", data: { amount: 1 } })).toMatchObject({ data: { code: "SESSION_ERROR" } });
    expect(await many(socket, "state_many", { items: [] })).toEqual([]);
    expect(await openSessions(socket, MAX_BATCH_ITEMS)).toHaveLength(MAX_BATCH_ITEMS);
  });

  test("is unknown where it was not negotiated, and on a socket attached to a named session", async () => {
    const server = await start();
    const stock = await open(server);
    expect(await stock.ask({ type: "open_many", data: { count: 1 } })).toMatchObject({
      data: { code: "UNKNOWN_TYPE" },
    });
    const response = await fetch(`${server.url}/reset`, { method: "POST" });
    const id = response.headers.get("openenv-session");
    const attached = await open(server, `/ws?openenv=batch,timing&session_id=${id}`);
    const answer = await attached.ask({ type: "state" });
    expect(answer).toMatchObject({ type: "state", openenv: { extensions: ["timing"] } });
  });

  test("a socket that breaks in the middle of a step frees every slot once", async () => {
    const counter = defineCounter();
    const server = await start({ maxConcurrentEnvs: 20 }, counter);
    for (let round = 0; round < 3; round++) {
      const socket = await open(server, "/ws?openenv=batch");
      const sessions = await openSessions(socket, 20);
      expect(sessions).toHaveLength(20);
      await many(socket, "reset_many", items(sessions));
      socket.send({ type: "step_many", data: items(sessions, (session) => ({ amount: session % 2 ? 60 : 50 })) });
      await waitFor(() => counter.log.begun === (round + 1) * 20);
      expect(counter.log.aborted).toBe(round * 10);
      socket.ws.terminate();
      await waitFor(() => server.capacity().active_sessions === 0);
      await waitFor(() => counter.log.aborted === (round + 1) * 10);
    }
    await waitFor(() => counter.log.closed === 60);
    expect(counter.log).toMatchObject({ created: 60, closed: 60, aborted: 30 });
    expect(server.capacity()).toMatchObject({ active_sessions: 0, available_slots: 20 });
  });

  test("a close frame ends all sessions", async () => {
    const server = await start();
    const socket = await open(server, "/ws?openenv=batch");
    await openSessions(socket, 5);
    socket.send({ type: "close" });
    expect((await socket.closed).code).toBe(1000);
    expect(server.capacity().active_sessions).toBe(0);
  });

  test("sessions in the queue leave it when their socket closes", async () => {
    const server = await start({ maxConcurrentEnvs: 2, queueSize: 10 } as never);
    const socket = await open(server, "/ws?openenv=batch");
    await openSessions(socket, 2);
    const waiting = await open(server, "/ws?openenv=batch");
    waiting.send({ type: "open_many", data: { count: 2 } });
    const patient = await open(server, "/ws?openenv=batch");
    patient.send({ type: "open_many", data: { count: 2 } });
    await new Promise((resolve) => setTimeout(resolve, 50));
    waiting.ws.terminate();
    await waiting.closed;
    socket.ws.terminate();
    const answer = (await patient.receive()) as unknown as { data: { items: Reply[] } };
    expect(answer.data.items.map(({ type }) => type)).toEqual(["opened", "opened"]);
    expect(server.capacity().active_sessions).toBe(2);
  });

  test("works together with binary frames and with timing", async () => {
    const server = await start();
    await using socket = await openBinarySocket(`${server.url}/ws?openenv=batch,binary,timing`);
    const first = await socket.ask('{"type":"open_many","data":{"count":2}}');
    expect(first.frame["openenv"]).toEqual({ extensions: ["timing", "binary", "batch"] });
    await socket.askPacked({ type: "reset_many", data: items([0, 1]) });
    const answer = await socket.askPacked({ type: "step_many", data: items([0, 1], () => ({ amount: 4 })) });
    expect(answer).toMatchObject({
      type: "many",
      data: { items: [{ data: { reward: 4, metadata: { openenv: { step: 1 } } } }, { data: { reward: 4 } }] },
    });
  });
});
