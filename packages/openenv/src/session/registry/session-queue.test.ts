import { describe, expect, test } from "vitest";
import { counterContract, defineCounter } from "../../../../../test-support/environments/counter.js";
import { WITH_OPERATOR } from "../../../../../test-support/operator.js";
import { countWaiting, useServers, waitFor } from "../../../../../test-support/servers/servers.js";
import { openTestSocket } from "../../../../../test-support/sockets/socket.js";
import { defineEnvironment } from "../../environment/define-environment.js";
import { createRuntime } from "../runtime.js";
import type { Session } from "../session.js";
import { Sessions } from "./sessions.js";

const { start, open } = useServers();
const RESET = { type: "reset" };

describe("a server with a queue", () => {
  test("serves a burst of twice its capacity in the order of arrival", async () => {
    const server = await start({ maxConcurrentEnvs: 10, queueSize: 10 });
    const sockets = [];
    for (let i = 0; i < 20; i++) sockets.push(await open(server));
    const answers = sockets.map((socket) => socket.ask(RESET));
    for (const answer of answers.slice(0, 10)) expect(await answer).toMatchObject({ type: "observation" });
    for (const [nth, socket] of sockets.entries()) {
      socket.send({ type: "close" });
      await socket.closed;
      // One slot is free now. If another client had taken it, this call would not be answered.
      if (nth < 10) expect(await answers[nth + 10]).toMatchObject({ type: "observation" });
    }
    await waitFor(() => server.capacity().active_sessions === 0);
  });

  test("rejects at once when the queue is full, and after the timeout otherwise", async () => {
    const server = await start({ maxConcurrentEnvs: 1, queueSize: 1, queueTimeout: 0.2 });
    await (await open(server)).ask(RESET);
    const waiting = await open(server);
    waiting.send(RESET);
    const tooMany = await open(server);
    expect(await tooMany.receive()).toMatchObject({ data: { code: "CAPACITY_REACHED" } });
    expect(await waiting.receive()).toMatchObject({ data: { code: "CAPACITY_REACHED" } });
    expect((await waiting.closed).code).toBe(1000);
  });

  test("moves the next client up when one leaves", async () => {
    const counter = defineCounter();
    const server = await start({ ...WITH_OPERATOR, maxConcurrentEnvs: 1, queueSize: 1 }, counter);
    const first = await open(server);
    await first.ask(RESET);
    const leaver = await openTestSocket(`${server.url}/ws`);
    await expect.poll(() => countWaiting(server.url)).toBe(1);
    leaver.ws.terminate();
    await expect.poll(() => countWaiting(server.url)).toBe(0);
    const next = await open(server);
    next.send(RESET);
    first.ws.terminate();
    expect(await next.receive()).toMatchObject({ type: "observation" });
    expect(counter.log.created).toBe(2);
  });

  test("reports its position to a page whenever it changes, and sends only answers to other clients", async () => {
    const server = await start({ maxConcurrentEnvs: 1, queueSize: 4 });
    const first = await open(server);
    await first.ask(RESET);
    const [next, page, last] = [await open(server), await open(server, "/ws?view=1"), await open(server, "/ws?view=1")];
    const place = (number: number) => ({ type: "queued", data: { place: number } });
    expect(await page.receive()).toEqual(place(2));
    expect(await last.receive()).toEqual(place(3));
    next.send(RESET);
    first.send({ type: "close" });
    expect(await next.receive()).toMatchObject({ type: "observation" });
    expect(await page.receive()).toEqual(place(1));
    expect(await last.receive()).toEqual(place(2));
    page.ws.terminate();
    expect(await last.receive()).toEqual(place(1));
    next.send({ type: "close" });
    expect(await last.receive()).toEqual(place(0));
    expect(await last.ask(RESET)).toMatchObject({ type: "observation", openenv: { extensions: ["view"] } });
  });

  test("ends an unclaimed HTTP session for a client that arrived during its first reset", async () => {
    let finish = (): void => {};
    let resets = 0;
    const observe = () => ({ observation: { count: 0 } });
    const hold = () => new Promise<ReturnType<typeof observe>>((resolve) => (finish = () => resolve(observe())));
    const environment = defineEnvironment(counterContract, () => ({
      reset: () => (resets++ === 0 ? hold() : observe()),
      step: observe,
      state: () => ({ total: 0 }),
    }));
    const server = await start({ maxConcurrentEnvs: 1, queueSize: 1, queueTimeout: 5 }, { environment });
    const first = fetch(`${server.url}/reset`, { method: "POST" });
    await waitFor(() => resets === 1);
    const waiting = await open(server);
    waiting.send(RESET);
    finish();
    expect((await first).status).toBe(200);
    expect(await waiting.receive()).toMatchObject({ type: "observation" });
    expect(server.capacity().active_sessions).toBe(1);
  });

  test("rejects all waiting clients when the factory fails, and serves the next", async () => {
    const counter = defineCounter();
    let isBroken = false;
    const environment: typeof counter.environment = {
      ...counter.environment,
      create: () => {
        if (isBroken) throw new Error("broken");
        return counter.environment.create();
      },
    };
    const limits = { maxConcurrentEnvs: 1, sessionTimeoutMs: null, queueSize: 5_000 };
    const sessions = new Sessions(createRuntime(environment), limits);
    const first = sessions.open() as Session;
    const line = Array.from({ length: limits.queueSize }, () => sessions.open({}));
    isBroken = true;
    sessions.end(first, "closed by the client");
    const refused = (await Promise.allSettled(line)) as PromiseRejectedResult[];
    expect(new Set(refused.map(({ reason }) => reason.data?.code ?? String(reason)))).toEqual(
      new Set(["FACTORY_ERROR"]),
    );
    isBroken = false;
    sessions.open();
    expect(sessions.load()).toMatchObject({ active: 1, waiting: 0 });
  }, 120_000);

  test("notifies waiting clients when it stops", async () => {
    const server = await start({ maxConcurrentEnvs: 1, queueSize: 5 });
    await (await open(server)).ask(RESET);
    const waiting = await open(server);
    const closed = server.close();
    expect((await waiting.closed).code).toBe(1012);
    await closed;
  });
});
