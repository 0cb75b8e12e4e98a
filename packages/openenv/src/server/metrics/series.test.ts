import { afterEach, describe, expect, test, vi } from "vitest";
import * as z from "zod";
import { fetchAsOperator, WITH_OPERATOR } from "../../../../../test-support/operator.js";
import { useServers } from "../../../../../test-support/servers/servers.js";
import { defineContract } from "../../contract/contract.js";
import { defineEnvironment } from "../../environment/define-environment.js";
import type { RunningServer } from "../types.js";

const { start, open } = useServers();
const RESET = { type: "reset", data: {} };
const step = (amount: number) => ({ type: "step", data: { amount } });

afterEach(() => {
  vi.restoreAllMocks();
});

async function scrape({ url }: RunningServer): Promise<Map<string, number>> {
  const text = await (await fetchAsOperator(`${url}/metrics`)).text();
  const samples = text.matchAll(/^(\w+)\{worker="0",?([^}]*)\} (\S+)$/gm);
  return new Map(
    [...samples].map(([, name, labels, value]) => [labels ? `${name}{${labels}}` : `${name}`, Number(value)]),
  );
}

const refusals = (reason: string) => `openenv_rejections_total{reason="${reason}"}`;

/** Steps that use `amount` milliseconds of CPU time. */
const busy = {
  environment: defineEnvironment(
    defineContract({
      name: "busy_env",
      action: z.object({ amount: z.number() }),
      observation: z.object({ count: z.number() }),
    }),
    () => ({
      reset: () => ({ observation: { count: 0 } }),
      step: ({ amount }) => {
        const end = performance.now() + amount;
        while (performance.now() < end);
        return { observation: { count: 0 } };
      },
    }),
  ),
};

test("quotes, backslashes and line breaks in a label are escaped", async () => {
  const contract = defineContract({ name: 'a "b" \\ c\nd', action: z.object({}), observation: z.object({}) });
  const answer = () => ({ observation: {} });
  const environment = defineEnvironment(contract, () => ({ reset: answer, step: answer }));
  const server = await start(WITH_OPERATOR, { environment });
  const text = await (await fetchAsOperator(`${server.url}/metrics`)).text();
  expect(text).toContain(String.raw`environment="a \"b\" \\ c\nd"`);
});

describe("sessions", () => {
  test("that their clients have not used are exported separately from those in use", async () => {
    const server = await start({ ...WITH_OPERATOR, maxConcurrentEnvs: 3 });
    for (let i = 0; i < 6; i++) await (await fetch(`${server.url}/reset`, { method: "POST" })).text();
    const before = await scrape(server);
    expect([before.get("openenv_sessions"), before.get("openenv_sessions_unclaimed")]).toEqual([3, 3]);
    for (let i = 0; i < 2; i++) await (await open(server)).ask(RESET);
    const after = await scrape(server);
    expect([after.get("openenv_sessions"), after.get("openenv_sessions_unclaimed")]).toEqual([3, 1]);
    expect(after.get(refusals("full"))).toBe(0);
  });

  test("of sockets count as unused once they may be closed", async () => {
    const server = await start({ ...WITH_OPERATOR, maxConcurrentEnvs: 3 });
    await open(server);
    expect((await scrape(server)).get("openenv_sessions_unclaimed")).toBe(0);
    const real = performance.now.bind(performance);
    vi.spyOn(performance, "now").mockImplementation(() => real() + 10_500);
    expect((await scrape(server)).get("openenv_sessions_unclaimed")).toBe(1);
  });

  test("that are rejected are counted by reason", async () => {
    const told = async (server: RunningServer) => {
      const series = await scrape(server);
      const reasons = ["full", "queue_timeout", "http_reset", "paused", "draining"];
      return reasons.map((reason) => series.get(refusals(reason)));
    };
    const server = await start({ ...WITH_OPERATOR, maxConcurrentEnvs: 1 });
    await (await open(server)).ask(RESET);
    for (let i = 0; i < 2; i++) await (await open(server)).receive();
    await fetchAsOperator(`${server.url}/sessions/pause`, {}, "POST");
    await (await open(server)).receive();
    expect((await scrape(server)).get("openenv_paused")).toBe(1);
    expect(await told(server)).toEqual([2, 0, 0, 1, 0]);
    const queueing = await start({ ...WITH_OPERATOR, maxConcurrentEnvs: 1, queueSize: 1, queueTimeout: 0.05 });
    await (await open(queueing)).ask(RESET);
    await (await open(queueing)).receive();
    expect(await told(queueing)).toEqual([0, 1, 0, 0, 0]);
    const full = await start({ ...WITH_OPERATOR, maxConcurrentEnvs: 1 });
    await (await open(full)).ask(RESET);
    for (let i = 0; i < 3; i++) {
      const reset = await fetch(`${full.url}/reset`, { method: "POST" });
      expect([reset.status, reset.headers.get("openenv-session")]).toEqual([200, "none"]);
    }
    expect(await told(full)).toEqual([0, 0, 3, 0, 0]);
  });

  test("of HTTP clients are not rejections while there is room, or an unused session can be closed", async () => {
    const server = await start({ ...WITH_OPERATOR, maxConcurrentEnvs: 1 });
    for (let i = 0; i < 3; i++) await (await fetch(`${server.url}/reset`, { method: "POST" })).text();
    const step = { method: "POST", headers: { "content-type": "application/json" }, body: '{"action":{"amount":1}}' };
    expect((await fetch(`${server.url}/step`, step)).status).toBe(200);
    expect((await scrape(server)).get(refusals("http_reset"))).toBe(0);
  });

  test("from the queue count their waiting time", async () => {
    const server = await start({ ...WITH_OPERATOR, maxConcurrentEnvs: 1, queueSize: 1 });
    const first = await open(server);
    await first.ask(RESET);
    const waiting = await open(server);
    await expect.poll(async () => (await scrape(server)).get("openenv_sessions_waiting")).toBe(1);
    first.send({ type: "close" });
    await waiting.ask(RESET);
    const series = await scrape(server);
    expect(series.get("openenv_session_wait_seconds_count")).toBe(1);
    expect(series.get("openenv_session_wait_seconds_sum")).toBeGreaterThan(0);
    expect(series.get("openenv_reset_duration_seconds_count")).toBe(2);
  });
});

describe("the time of a step", () => {
  test("counts from its arrival, also while another session blocks the event loop", async () => {
    const server = await start(WITH_OPERATOR, busy);
    // The time in the kernel counts after the first scrape.
    await scrape(server);
    const sockets = [];
    for (let i = 0; i < 10; i++) sockets.push(await open(server));
    for (const socket of sockets) await socket.ask(RESET);
    // Ten steps of 20 ms at once: the last waits 180 ms, and all of them 900 ms together.
    await Promise.all(sockets.map((socket) => socket.ask(step(20))));
    const series = await scrape(server);
    expect(series.get("openenv_step_duration_seconds_count")).toBe(10);
    expect(series.get("openenv_step_wait_seconds_count")).toBe(10);
    expect(series.get("openenv_step_wait_seconds_sum")).toBeGreaterThan(0.4);
    expect(series.get("openenv_step_duration_seconds_sum")).toBeGreaterThan(0.6);
  });

  test("counts from its arrival when it waits for an earlier step of its session", async () => {
    const server = await start(WITH_OPERATOR);
    const socket = await open(server);
    await socket.ask(RESET);
    for (let i = 0; i < 3; i++) socket.send(step(50));
    for (let i = 0; i < 3; i++) await socket.receive();
    // Each takes 50 ms: the second waits as long, the third twice. They may arrive while the first one runs.
    expect((await scrape(server)).get("openenv_step_wait_seconds_sum")).toBeGreaterThan(0.1);
  });

  test("has no wait while nothing blocks the event loop", async () => {
    const server = await start(WITH_OPERATOR);
    const socket = await open(server);
    await socket.ask(RESET);
    // So many that other processes, which delay some of them, have little effect on the sum.
    for (let i = 0; i < 20; i++) await socket.ask(step(50));
    const series = await scrape(server);
    const duration = series.get("openenv_step_duration_seconds_sum") ?? 0;
    expect(duration).toBeGreaterThan(0.95);
    expect(series.get("openenv_step_wait_seconds_sum")).toBeLessThan(duration / 2);
  });
});

test("the lag of the event loop is one observation a second, of its worst moment", async () => {
  const server = await start(WITH_OPERATOR, busy);
  const socket = await open(server);
  await socket.ask(RESET);
  const lag = async (what: string) => (await scrape(server)).get(`openenv_event_loop_lag_seconds_${what}`);
  // A delay before the first beat of an observation is not seen, and one observation has just ended.
  await expect.poll(() => lag("count")).toBeGreaterThan(0);
  await new Promise((resolve) => setTimeout(resolve, 100));
  await socket.ask(step(300));
  await expect.poll(() => lag("sum")).toBeGreaterThan(0.2);
});
