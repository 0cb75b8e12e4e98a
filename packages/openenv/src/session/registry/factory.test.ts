import { expect, test } from "vitest";
import { counterContract } from "../../../../../test-support/environments/counter.js";
import { fetchAsOperator, WITH_OPERATOR } from "../../../../../test-support/operator.js";
import { countWaiting, useServers, waitFor } from "../../../../../test-support/servers/servers.js";
import { connect } from "../../connect.js";
import { defineEnvironment } from "../../environment/define-environment.js";
import type { EnvironmentOptions, FactoryContext } from "../../environment/environment.js";

const servers = useServers();
const episode = {
  reset: () => ({ observation: { count: 0 } }),
  step: () => ({ observation: { count: 1 } }),
};

function define(
  before: (context: FactoryContext) => PromiseLike<unknown> | undefined,
  options: EnvironmentOptions = {},
) {
  const environment = defineEnvironment(
    counterContract,
    async (context) => {
      await before(context);
      return episode;
    },
    options,
  );
  return { environment };
}

const never = new Promise<never>(() => {});

test("the signal of a factory aborts when its client has left", async () => {
  let signal: AbortSignal | undefined;
  const server = await servers.start(
    {},
    define((context) => {
      signal = context.signal;
      return never;
    }),
  );
  const socket = await servers.open(server);
  await waitFor(() => signal !== undefined);
  expect(signal?.aborted).toBe(false);
  socket.ws.terminate();
  await waitFor(() => signal?.aborted === true);
  expect(signal?.reason).toMatchObject({ message: expect.stringMatching(/closed|disconnected/) });
});

test("a factory that waits is seen like a client in the queue", async () => {
  let free = (): void => {};
  const server = await servers.start(
    WITH_OPERATOR,
    define(({ wait }) => wait(new Promise<void>((resolve) => (free = resolve)))),
  );
  const opening = connect(server.url, counterContract).then(async (env) => {
    await env.reset();
    return env;
  });
  while ((await countWaiting(server.url)) !== 1);
  free();
  await using env = await opening;
  expect((await env.step({ amount: 1 })).observation).toEqual({ count: 1 });
  expect(await countWaiting(server.url)).toBe(0);
  const metrics = await (await fetchAsOperator(`${server.url}/metrics`)).text();
  expect(metrics).toMatch(/openenv_session_wait_seconds_count\{worker="0"\} 1/);
});

test("a factory that waits longer than the queue is refused like a client in the queue", async () => {
  let signal: AbortSignal | undefined;
  const server = await servers.start(
    { queueTimeout: 0.05, ...WITH_OPERATOR },
    define((context) => {
      signal = context.signal;
      return context.wait(never);
    }),
  );
  const socket = await servers.open(server);
  expect(await socket.receive()).toMatchObject({ type: "error", data: { code: "CAPACITY_REACHED" } });
  expect(signal?.aborted).toBe(true);
  const metrics = await (await fetchAsOperator(`${server.url}/metrics`)).text();
  expect(metrics).toContain('openenv_rejections_total{worker="0",reason="queue_timeout"} 1');
});

test("the capacity follows that of the environment, and waiting clients get their turn", async () => {
  let max = 1;
  let changed = (): void => {};
  const capacity = { max: () => max, onChange: (listener: () => void) => void (changed = listener) };
  const server = await servers.start(
    { queueSize: 4, ...WITH_OPERATOR },
    define(() => undefined, { capacity }),
  );
  await using first = await connect(server.url, counterContract);
  await first.reset();
  expect(server.capacity()).toMatchObject({ max_sessions: 1, available_slots: 0 });
  const second = connect(server.url, counterContract).then(async (env) => {
    await env.reset();
    return env;
  });
  while ((await countWaiting(server.url)) !== 1);
  max = 2;
  changed();
  await using env = await second;
  expect((await env.step({ amount: 1 })).observation).toEqual({ count: 1 });
});

test("the metrics of an environment are in /metrics", async () => {
  const metrics = {
    pool_size: { type: "gauge" as const, help: "Databases.", read: () => 3 },
    pool_uses_total: {
      type: "counter" as const,
      help: "Uses, by database.",
      read: (): [Record<string, string>, number][] => [[{ name: 'a"b' }, 5]],
    },
  };
  const server = await servers.start(
    WITH_OPERATOR,
    define(() => undefined, { metrics }),
  );
  const text = await (await fetchAsOperator(`${server.url}/metrics`)).text();
  expect(text).toContain('# HELP pool_size Databases.\n# TYPE pool_size gauge\npool_size{worker="0"} 3\n');
  expect(text).toContain('pool_uses_total{worker="0",name="a\\"b"} 5');
});

test.each(["openenv_x", "process_x", "Pool", "pool size"])("%s is no name of a metric", (name) => {
  const row = { type: "gauge" as const, help: "x", read: () => 0 };
  expect(() => define(() => undefined, { metrics: { [name]: row } })).toThrow(`The metric "${name}" must`);
});
