import { describe, expect, test, vi } from "vitest";
import { useServers } from "../../../../../test-support/servers/servers.js";
import type { Log } from "../../util/log.js";
import { silentLog } from "../../util/log.js";
import { Central } from "./central.js";
import { definePlugin, type PluginCentral, type ServerPlugin } from "./index.js";

// Each starts servers and sockets, which takes long on a busy machine.
vi.setConfig({ testTimeout: 120_000 });

const { start } = useServers();
const FAILED = { code: "PLUGIN_FAILED", message: 'The plugin "sums" failed in central: try again later.' };
const fail = (): never => {
  throw new Error("the plugin is broken");
};

async function startCentral(plugins: readonly ServerPlugin[], log: Log = silentLog): Promise<Central> {
  const central = new Central(log);
  await central.start(plugins);
  return central;
}

describe("ServerHandle.ask without workers", () => {
  /** Serves a plugin with this central part, and returns its `ask`. */
  async function serveCentral(central: PluginCentral): Promise<(message: unknown) => Promise<unknown>> {
    let ask: ((message: unknown) => Promise<unknown>) | undefined;
    const plugin = definePlugin({ name: "sums", central: () => central, start: (server) => void (ask = server.ask) });
    await start({ plugins: [plugin] });
    return ask as NonNullable<typeof ask>;
  }

  test("resolves with the answer of the central part", async () => {
    let sum = 0;
    const ask = await serveCentral({ answer: (message, worker) => ({ sum: (sum += message as number), worker }) });
    await ask(2);
    expect(await ask(3)).toEqual({ sum: 5, worker: 0 });
  });

  test("sends copies in JSON, as between processes", async () => {
    const kept: unknown[] = [];
    const ask = await serveCentral({ answer: (message) => kept[kept.push(message) - 1] });
    const message = { at: new Date(0), none: undefined };
    expect(await ask(message)).toEqual({ at: "1970-01-01T00:00:00.000Z" });
    expect(kept).toEqual([{ at: "1970-01-01T00:00:00.000Z" }]);
    expect(await ask(undefined)).toBeNull();
    const cycle: unknown[] = [];
    cycle.push(cycle);
    await expect(ask(cycle)).rejects.toMatchObject(FAILED);
    await expect(ask(1n)).rejects.toMatchObject(FAILED);
    expect(kept).toHaveLength(2);
  });

  test.each([
    ["throws", fail],
    ["rejects", () => Promise.reject(new Error("the plugin is broken"))],
    ["answers with a BigInt", () => 1n],
    ["answers with a BigInt, later", async () => ({ sum: 1n })],
  ])("rejects when the central part %s", async (_how, answer) => {
    const ask = await serveCentral({ answer });
    await expect(ask({})).rejects.toMatchObject(FAILED);
  });
});

test("a worker that has ended is not heard: what it takes would not be given back", async () => {
  const taken: number[] = [];
  const plugin = definePlugin({ name: "sums", central: () => ({ answer: (_, worker) => taken.push(worker) }) });
  const central = await startCentral([plugin]);
  expect(await central.answer("sums", {}, 1)).toEqual({ answer: 1 });
  central.workerEnded(1);
  expect(await central.answer("sums", {}, 1)).toMatchObject({ code: "PLUGIN_FAILED", message: "Worker 1 has ended." });
  expect(await central.answer("sums", {}, 2)).toEqual({ answer: 2 });
});

test.each([
  ["throws", fail],
  ["rejects", () => Promise.reject(new Error("the plugin is broken"))],
])(
  "a central part that %s at the end of a worker or of the server is logged, and the others end",
  async (_how, end) => {
    const events: string[] = [];
    const log = { ...silentLog, error: (fields: object) => void events.push((fields as { plugin: string }).plugin) };
    const good = definePlugin({
      name: "good",
      central: () => ({
        answer: () => null,
        workerEnded: () => void events.push("a worker ended"),
        [Symbol.asyncDispose]: async () => void events.push("stopped"),
      }),
    });
    const bad = definePlugin({
      name: "bad",
      central: () => ({ answer: () => null, workerEnded: end, [Symbol.asyncDispose]: end as () => Promise<void> }),
    });
    const central = await startCentral([good, bad], log);
    central.workerEnded(1);
    await expect.poll(() => events.toSorted()).toEqual(["a worker ended", "bad"]);
    events.length = 0;
    await central.close();
    expect(events).toEqual(["bad", "stopped"]);
  },
);
