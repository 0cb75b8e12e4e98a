import { expect, test } from "vitest";
import { rpc, useMcp } from "../../../../../test-support/environments/mcp.js";
import { openTestSocket } from "../../../../../test-support/sockets/socket.js";

const { start, open } = useMcp();

const GUARDED = { mode: "production", orchestratorToken: "secret" } as const;
const BEARER = { authorization: "Bearer secret" };
const RESET = { type: "reset", data: {} };
const FORBIDDEN = { data: { code: "FORBIDDEN" } };
const CREATE = { type: "mcp", data: { ...rpc, method: "openenv/session/create" } };

async function openAgent(url: string) {
  const socket = await openTestSocket(`${url}/ws`);
  const created = (await socket.ask(CREATE)) as { data: { result: { session_id: string } } };
  return { socket, id: created.data.result.session_id };
}

test("an orchestrator's visit to an agent's session leaves the agent without its right", async () => {
  const { server } = await start(GUARDED);
  const { socket, id } = await openAgent(server.url);
  await using _end = socket;
  expect(await socket.ask(RESET)).toMatchObject(FORBIDDEN);
  const { client, transport } = await open(server, { headers: { ...BEARER, "openenv-session": id } });
  expect(await client.callTool({ name: "tally" })).toMatchObject({ structuredContent: { result: 1 } });
  expect(await socket.ask(RESET)).toMatchObject(FORBIDDEN);
  await transport.terminateSession();
  expect(await socket.ask(RESET)).toMatchObject(FORBIDDEN);
  expect(await socket.ask({ type: "step", data: { type: "list_tools" } })).toMatchObject(FORBIDDEN);
});

test("the right is that of the socket also in a session that an orchestrator opened over MCP", async () => {
  const { server } = await start(GUARDED);
  const { transport } = await open(server, { headers: BEARER });
  const path = `${server.url}/ws?session_id=${transport.sessionId}`;
  await using agent = await openTestSocket(path);
  expect(await agent.ask(RESET)).toMatchObject(FORBIDDEN);
  agent.send({ type: "close" });
  await agent.closed;
  await using holder = await openTestSocket(path, { headers: BEARER });
  expect(await holder.ask(RESET)).toMatchObject({ type: "observation" });
});

test("an agent that knows the id neither ends nor takes over the MCP session of an orchestrator", async () => {
  const { server, active } = await start(GUARDED);
  const { client, transport } = await open(server, { headers: BEARER });
  const id = transport.sessionId ?? "";
  const named = { "mcp-session-id": id };
  const ended = await fetch(`${server.url}/mcp`, { method: "DELETE", headers: named });
  expect([ended.status, await ended.json()]).toMatchObject([403, { error: { code: -32000 } }]);
  const plain = JSON.stringify({ ...rpc, method: "openenv/session/close", params: { session_id: id } });
  const asked = await fetch(`${server.url}/mcp`, { method: "POST", body: plain });
  expect(await asked.json()).toMatchObject({ error: { data: { code: "FORBIDDEN" } } });
  await expect(open(server, { headers: { "openenv-session": id } })).rejects.toThrow("OPENENV_ORCHESTRATOR_TOKEN");
  expect(await client.callTool({ name: "tally" })).toMatchObject({ structuredContent: { result: 1 } });
  expect(active()).toBe(1);
  await transport.terminateSession();
  expect(active()).toBe(0);
});
