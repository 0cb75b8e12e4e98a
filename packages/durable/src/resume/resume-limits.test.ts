import { afterEach, describe, expect, test, vi } from "vitest";
import type { RunningServer } from "#core/server/types.js";
import { ByteBudget } from "#parts/sockets/scheduling";
import { defineCounter } from "../../../../test-support/environments/counter.js";
import { fetchAsOperator, WITH_OPERATOR } from "../../../../test-support/operator.js";
import { useServers, waitFor } from "../../../../test-support/servers/servers.js";
import {
  BEGIN as begin,
  codeOf as code,
  resumeWith,
  stepFrame as step,
} from "../../../../test-support/sockets/resumable.js";
import { StoredAnswers } from "../session/stored-answers.js";

const servers = useServers();
const { openSession, resume } = resumeWith(servers);

const detached = (server: RunningServer) => expect.poll(async () => (await server.sessions())[0]?.attached).toBe(false);
/** `openenv_sessions_detached` of /metrics. */
async function countDetached({ url }: RunningServer): Promise<number> {
  const text = await (await fetchAsOperator(`${url}/metrics`)).text();
  return Number(/^openenv_sessions_detached\S* (\d+)$/m.exec(text)?.[1]);
}

describe("a session without a connection", () => {
  afterEach(() => void vi.restoreAllMocks());

  test("ends after the session timeout, and the first answer names it", async () => {
    const counter = defineCounter();
    const server = await servers.start({ sessionTimeout: 0.2 }, counter);
    const { socket, id } = await openSession(server);
    socket.ws.terminate();
    await waitFor(() => counter.log.closed === 1);
    const [, resumed] = await resume(server, id);
    expect(resumed).toMatchObject({ recovered: false, reason: "was not resumed in time", window_s: 0.2 });
  });

  test("has no time limit without a session timeout", async () => {
    const server = await servers.start({ sessionTimeout: null });
    const socket = await servers.open(server, "/ws?openenv=resume");
    expect(await socket.ask(begin)).toMatchObject({ data: { window_s: null } });
  });

  test("keeps its slot for the guaranteed time while another client needs one, and not longer", async () => {
    const server = await servers.start({ ...WITH_OPERATOR, maxConcurrentEnvs: 1, resumeGuarantee: 30 });
    const { socket, id } = await openSession(server);
    expect(await countDetached(server)).toBe(0);
    socket.ws.terminate();
    await detached(server);
    expect(await countDetached(server)).toBe(1);
    const real = performance.now.bind(performance);
    const clock = vi.spyOn(performance, "now").mockImplementation(() => real() + 20_000);
    expect(code(await (await servers.open(server)).receive())).toBe("CAPACITY_REACHED");
    const [next, resumed] = await resume(server, id);
    expect(resumed).toMatchObject({ recovered: true });
    expect(await countDetached(server)).toBe(0);
    next.ws.terminate();
    await detached(server);
    clock.mockImplementation(() => real() + 51_000);
    expect((await (await servers.open(server)).ask({ type: "reset", data: {} }))["type"]).toBe("observation");
    const [, ended] = await resume(server, id);
    const reason = "was not resumed, and was closed to make room for another client";
    expect(ended).toMatchObject({ recovered: false, reason });
  });
});

test("a page that was left keeps its slot for seconds, and ends after the guaranteed time", async () => {
  const counter = defineCounter();
  const server = await servers.start({ maxConcurrentEnvs: 1, resumeGuarantee: 30 }, counter);
  const real = performance.now.bind(performance);
  let ahead = 0;
  const clock = vi.spyOn(performance, "now").mockImplementation(() => real() + ahead);
  const leave = async () => {
    const { socket, id } = await openSession(server);
    socket.ws.close(1001);
    await detached(server);
    return id;
  };
  const first = await leave();
  expect(code(await (await servers.open(server)).receive())).toBe("CAPACITY_REACHED");
  const [again, resumed] = await resume(server, first);
  expect(resumed).toMatchObject({ recovered: true });
  again.ws.close(1001);
  await detached(server);
  ahead += 11_000;
  expect((await (await servers.open(server)).ask({ type: "reset", data: {} }))["type"]).toBe("observation");
  await waitFor(() => counter.log.closed === 1);
  clock.mockRestore();
});

test("the limits of answers are settings", async () => {
  const server = await servers.start({ resumeAnswers: 2, resumeBytes: 1024 });
  const { socket } = await openSession(server);
  await socket.ask(step(1, 2));
  expect(code(await socket.ask(step(1, 3)))).toBe("SEQUENCE_OVERFLOW");
  await socket.ask({ type: "step", data: { amount: 1, metadata: { note: "x".repeat(2_000) } }, seq: 3, ack: 2 });
  const other = await servers.open(server, "/ws?openenv=resume");
  expect(code(await other.ask(begin))).toBe("CAPACITY_REACHED");
});

test("stored answers have one limit: beyond it a session keeps only its last answer", () => {
  const budget = new ByteBudget(10);
  const [first, second] = [new StoredAnswers(budget, 64, 10), new StoredAnswers(budget, 64, 10)];
  const isSame = () => true;
  expect(first.admit(1, "12345678", isSame)).toBeUndefined();
  first.store(1, "answer");
  expect(first.admit(2, "1", isSame)).toMatchObject({ code: "SEQUENCE_OVERFLOW" });
  expect(second.admit(1, "1", isSame)).toBeUndefined();
  expect(first.admit(1, "12345678", isSame)).toBe("answer");
  first.acknowledge(1);
  expect(first.admit(2, "1", isSame)).toBeUndefined();
  first.clear();
  second.clear();
  expect(budget.used).toBe(0);
});
