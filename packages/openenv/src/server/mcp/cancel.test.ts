import { expect, test } from "vitest";
import { defineGated, gatedContract } from "../../../../../test-support/environments/gated.js";
import { initialize, rpc, send } from "../../../../../test-support/environments/mcp.js";
import { useServers, waitFor } from "../../../../../test-support/servers/servers.js";
import { connect } from "../../connect.js";
import { definePlugin } from "../plugins/index.js";

const servers = useServers();

test.each([
  ["a call", {}],
  ["a call that the SDK answers", { more: 1 }],
])("%s that its MCP client cancels is an event with CANCELLED, and the next call waits", async (_what, more) => {
  const gated = defineGated("replay");
  const recorded: unknown[] = [];
  const plugin = definePlugin({
    name: "recorder",
    session: () => ({ record: ({ event, type, answer }) => void recorded.push({ event, type, answer }) }),
  });
  const server = await servers.start({ plugins: [plugin] }, gated);
  await using env = await connect(server.url, gatedContract, { resume: true });
  await env.reset();
  const { headers } = await env.openToAgent();
  const session = await initialize(server.url, { ...headers });
  const call = { ...rpc, id: "slow", method: "tools/call", params: { name: "wait", arguments: {}, ...more } };
  const slow = send(server.url, call, session)
    .then((response) => response.text())
    .catch(() => "no answer");
  await waitFor(() => gated.log.begun === 1);
  const params = { requestId: "slow", reason: "no time" };
  await send(server.url, { jsonrpc: "2.0", method: "notifications/cancelled", params }, session);
  if (!("more" in more)) expect(await slow).toBe("");
  const next = env.step({ add: 1 });
  expect(await Promise.race([next, new Promise((resolve) => setTimeout(resolve, 30, "waits"))])).toBe("waits");
  expect(gated.log.aborted).toBe(1);
  gated.open();
  expect((await next).observation).toEqual({ count: 101 });
  expect(recorded[1]).toMatchObject({
    event: 2,
    type: "step",
    answer: { data: { code: "CANCELLED", fault: "client" } },
  });
  await expect(env.fork(1)).rejects.toMatchObject({ code: "NOT_RESTORABLE" });
});

test("a call outside of the episode is cancelled in an mcp frame of the client", async () => {
  const gated = defineGated();
  const server = await servers.start({}, gated);
  const socket = await servers.open(server, "/ws?openenv=cancel");
  await socket.ask({ type: "reset" });
  const data = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "wait", arguments: {} } };
  socket.send({ type: "mcp", data });
  await waitFor(() => gated.log.begun === 1);
  socket.send({ type: "cancel" });
  expect(await socket.receive()).toMatchObject({
    type: "mcp",
    data: { id: 1, error: { data: { code: "CANCELLED", fault: "client" } } },
  });
  gated.open();
  expect(await socket.ask({ type: "step", data: { add: 1 } })).toMatchObject({ data: { observation: { count: 101 } } });
});
