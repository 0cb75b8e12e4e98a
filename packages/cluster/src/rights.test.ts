import { expect, test } from "vitest";
import { rpc, useMcp } from "../../../test-support/environments/mcp.js";
import { startCluster } from "../../../test-support/servers/cluster.js";
import { openTestSocket } from "../../../test-support/sockets/socket.js";

const { open } = useMcp();

const RESET = { type: "reset", data: {} };
const FORBIDDEN = { data: { code: "FORBIDDEN" } };
/** Each request uses a new connection, which any worker may accept. */
const AGENT = { connection: "close" };
const BEARER = { ...AGENT, authorization: "Bearer secret" };
/** Enough requests to reach both workers. */
const TRIES = 8;

test("workers check the token of the peer, wherever its session is", { timeout: 120_000 }, async () => {
  const env = { WORKERS: "2", OPENENV_MODE: "production", OPENENV_ORCHESTRATOR_TOKEN: "secret" };
  await using cluster = await startCluster(env);
  const { url } = cluster;

  await using agent = await openTestSocket(`${url}/ws`);
  const created = await agent.ask({ type: "mcp", data: { ...rpc, method: "openenv/session/create" } });
  const id = (created as { data: { result: { session_id: string } } }).data.result.session_id;
  const visit = await open({ url }, { headers: { ...BEARER, "openenv-session": id } });
  expect(await visit.client.callTool({ name: "count" })).toMatchObject({ structuredContent: { result: 0 } });
  expect(await agent.ask(RESET)).toMatchObject(FORBIDDEN);
  await visit.transport.terminateSession();
  expect(await agent.ask(RESET)).toMatchObject(FORBIDDEN);

  const holder = await open({ url }, { headers: BEARER });
  const session_id = holder.transport.sessionId ?? "";
  const close = JSON.stringify({ ...rpc, method: "openenv/session/close", params: { session_id } });
  for (let i = 0; i < TRIES; i++) {
    const asked = await fetch(`${url}/mcp`, { method: "POST", headers: AGENT, body: close });
    expect(await asked.json()).toMatchObject({ error: FORBIDDEN });
    const named = { ...AGENT, "mcp-session-id": session_id };
    const ended = await fetch(`${url}/mcp`, { method: "DELETE", headers: named });
    expect([ended.status, await ended.json()]).toMatchObject([403, { error: { code: -32000 } }]);
    await using stranger = await openTestSocket(`${url}/ws?session_id=${session_id}`);
    expect(await stranger.ask(RESET)).toMatchObject(FORBIDDEN);
    stranger.send({ type: "close" });
    await stranger.closed;
  }
  await using driver = await openTestSocket(`${url}/ws?session_id=${session_id}`, { headers: BEARER });
  expect(await driver.ask(RESET)).toMatchObject({ type: "observation" });
});
