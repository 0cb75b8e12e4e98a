import { describe, expect, test, vi } from "vitest";
import { defineDesk } from "../../../../../test-support/environments/tool-environment.js";
import { useServers } from "../../../../../test-support/servers/servers.js";
import { codeOf } from "../../../../../test-support/sockets/resumable.js";
import { definePlugin, type PluginHooks, type ServerPlugin } from "./index.js";

// Each starts servers and sockets, which takes long on a busy machine.
vi.setConfig({ testTimeout: 120_000 });

const { start, open } = useServers();

describe("what session() returns", () => {
  test.each<[string, () => unknown]>([
    ["a promise that rejects", () => Promise.reject(new Error("the plugin is broken"))],
    ["a misspelled member", () => ({ record: () => {}, mustrecord: true })],
    ["a member of another type", () => ({ record: () => {}, mustRecord: "yes" })],
  ])("opens no session if it is %s, and the plugins before have its end", async (_what, session) => {
    const ends: string[] = [];
    const before = definePlugin({ name: "before", session: () => ({ ended: (reason) => void ends.push(reason) }) });
    const server = await start({ plugins: [before, { name: "audit", session } as ServerPlugin] });
    expect(codeOf(await (await open(server)).receive())).toBe("PLUGIN_FAILED");
    expect(ends).toEqual(['The plugin "audit" failed in session: try again later.']);
    expect(server.capacity().active_sessions).toBe(0);
  });

  test("may have members that are undefined", async () => {
    const hooks = { around: undefined, mustRecord: undefined } as unknown as PluginHooks;
    const server = await start({ plugins: [definePlugin({ name: "audit", session: () => hooks })] });
    expect(await (await open(server)).ask({ type: "reset" })).toMatchObject({ type: "observation" });
  });
});

test("requests of one WebSocket stay in order if around() is asynchronous", async () => {
  const seen: string[] = [];
  const hooks: PluginHooks = {
    around: async ({ data }, next) => {
      seen.push(`asked ${data["amount"]}`);
      if (data["amount"] === 1) await new Promise((resolve) => setTimeout(resolve, 50));
      return await next();
    },
    record: ({ request }) => void seen.push(`performed ${request["amount"]}`),
  };
  const socket = await open(await start({ plugins: [definePlugin({ name: "audit", session: () => hooks })] }));
  await socket.ask({ type: "reset" });
  seen.length = 0;
  for (const amount of [1, 2]) socket.send({ type: "step", data: { amount } });
  for (const _ of [1, 2]) await socket.receive();
  expect(seen).toEqual(["asked 1", "performed 1", "asked 2", "performed 2"]);
});

test("requests that arrive over HTTP take their turn when around() calls next()", async () => {
  const arrived: number[] = [];
  const performed: number[] = [];
  let letFirst = (): void => {};
  const hooks: PluginHooks = {
    around: async ({ data }, next) => {
      const { a } = data["arguments"] as { a: number };
      arrived.push(a);
      if (a === 1) await new Promise<void>((resolve) => (letFirst = resolve));
      return await next();
    },
    record: ({ request }) => void performed.push((request["arguments"] as { a: number }).a),
  };
  const { url } = await start({ plugins: [definePlugin({ name: "audit", session: () => hooks })] }, defineDesk());
  const ask = async (method: string, params: object) => {
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
    const response = await fetch(`${url}/mcp`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body,
    });
    return ((await response.json()) as { result: { session_id: string } }).result;
  };
  const { session_id } = await ask("openenv/session/create", {});
  const call = (a: number) => ask("tools/call", { name: "add", arguments: { a, b: 1 }, session_id });
  const first = call(1);
  await expect.poll(() => arrived).toEqual([1]);
  await call(2);
  letFirst();
  await first;
  expect(performed).toEqual([2, 1]);
});
