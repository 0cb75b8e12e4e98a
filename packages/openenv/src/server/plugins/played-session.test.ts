import { expect, test, vi } from "vitest";
import { defineDesk } from "../../../../../test-support/environments/tool-environment.js";
import { useServers } from "../../../../../test-support/servers/servers.js";
import { definePlugin, type ServerHandle } from "./index.js";

vi.setConfig({ testTimeout: 120_000 });

const { start } = useServers();

async function startWithHandle(options = {}, ...more: Parameters<typeof start>[1][]) {
  let handle: ServerHandle | undefined;
  const events: string[] = [];
  const plugin = definePlugin({
    name: "player",
    start: (server) => void (handle = server as ServerHandle),
    session: ({ client }) => ({ record: ({ type }) => void events.push(`${client} ${type}`) }),
  });
  const server = await start({ plugins: [plugin], ...options }, ...more);
  return { server, handle: handle as ServerHandle, events };
}

test("a plugin opens a session, plays it, and ends it", async () => {
  const { server, handle, events } = await startWithHandle();
  const session = await handle.open();
  expect(await session.play({ type: "reset", request: { seed: 1 } })).toMatchObject({ type: "observation" });
  expect(await session.play({ type: "step", request: { amount: 2 } })).toMatchObject({
    data: { reward: expect.any(Number) },
  });
  expect(await session.play({ type: "step", request: { amount: "x" } })).toMatchObject({
    data: { code: "VALIDATION_ERROR" },
  });
  expect([session.steps, handle.sessions().length, server.capacity().active_sessions]).toEqual([1, 1, 1]);
  expect(events).toEqual(["plugin reset", "plugin step"]);
  session.end("it is over");
  await expect.poll(() => server.capacity().active_sessions).toBe(0);
});

test("it calls tools, and plays as an orchestrator in production mode", async () => {
  const options = { mode: "production", orchestratorToken: "a token of the tests" };
  const { handle } = await startWithHandle(options, { environment: defineDesk().environment });
  const session = await handle.open();
  expect(await session.play({ type: "reset", request: {} })).toMatchObject({ type: "observation" });
  const call = { name: "add", arguments: { a: 2, b: 3 } };
  expect(await session.play({ type: "tool", request: call })).toMatchObject({ result: expect.anything(), error: null });
});

test("a server that is full refuses it with the code", async () => {
  const { handle } = await startWithHandle({ maxConcurrentEnvs: 1 });
  await handle.open();
  await expect(handle.open()).rejects.toMatchObject({ code: "CAPACITY_REACHED" });
});
