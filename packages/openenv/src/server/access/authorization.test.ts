import { once } from "node:events";
import { describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import { defineDesk } from "../../../../../test-support/environments/tool-environment.js";
import { useServers } from "../../../../../test-support/servers/servers.js";
import { connect } from "../../connect.js";
import type { RunningServer } from "../types.js";

const { start, open } = useServers();

const TOKEN = "t0ken of the orchestrator";
const BEARER = { authorization: `Bearer ${TOKEN}` };
const FORBIDDEN = {
  type: "error",
  data: { code: "FORBIDDEN", fault: "client", message: expect.stringContaining("ORCHESTRATOR") },
};
const RESET = { type: "reset" };
const TALLY = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "tally" } };

const guarded = () => start({ mode: "production", orchestratorToken: TOKEN }, defineDesk());

const rpc = (method: string, params = {}) => ({ jsonrpc: "2.0", id: 1, method, params });

async function post({ url }: RunningServer, body: object, headers: Record<string, string> = {}): Promise<unknown> {
  return (await fetch(`${url}/mcp`, { method: "POST", headers, body: JSON.stringify(body) })).json();
}

async function createSession(server: RunningServer, headers: Record<string, string> = {}): Promise<string> {
  const created = (await post(server, rpc("openenv/session/create"), headers)) as { result: { session_id: string } };
  return created.result.session_id;
}

describe("a production server with an orchestrator's token", () => {
  test("rejects reset, step and state of other clients, allows their tool calls, and keeps the session", async () => {
    const socket = await open(await guarded());
    expect(await socket.ask(RESET)).toEqual(FORBIDDEN);
    expect(await socket.ask({ type: "step", data: { type: "list_tools" } })).toEqual(FORBIDDEN);
    expect(await socket.ask({ type: "state" })).toEqual(FORBIDDEN);
    expect(await socket.ask({ type: "mcp", data: TALLY })).toMatchObject({ data: { result: { data: 1 } } });
    const mcp = await open(await guarded(), "/mcp");
    expect(await mcp.ask(TALLY)).toMatchObject({ result: { data: 1 } });
  });

  test("accepts the token in the upgrade request, and no other token", async () => {
    const server = await guarded();
    const holder = await open(server, "/ws", BEARER);
    expect(await holder.ask(RESET)).toMatchObject({ type: "observation" });
    for (const authorization of [`Bearer ${TOKEN}x`, `bearer${TOKEN}`, TOKEN, "Bearer ", "Bearer undefined"]) {
      expect(await (await open(server, "/ws", { authorization })).ask(RESET)).toEqual(FORBIDDEN);
    }
  });

  test("accepts the token in a subprotocol, as a page sends it, and does not echo it", async () => {
    const server = await guarded();
    const answer = async (token: string) => {
      const secret = `openenv-token.${Buffer.from(token).toString("base64url")}`;
      const socket = new WebSocket(`${server.url.replace("http", "ws")}/ws`, ["openenv", secret]);
      socket.once("open", () => socket.send(JSON.stringify(RESET)));
      const [data] = await once(socket, "message");
      expect(socket.protocol).toBe("openenv");
      socket.terminate();
      return JSON.parse(String(data));
    };
    expect(await answer(TOKEN)).toMatchObject({ type: "observation" });
    expect(await answer(`${TOKEN}x`)).toEqual(FORBIDDEN);
  });

  test("accepts our client with the token, and answers FORBIDDEN without it", async () => {
    const server = await guarded();
    await using env = await connect(server.url, { token: TOKEN });
    expect((await env.reset()).done).toBe(false);
    await using other = await connect(server.url);
    await expect(other.reset()).rejects.toMatchObject({ code: "FORBIDDEN", wireCode: "FORBIDDEN" });
  });

  test("requires the token of a socket in every session, whichever client created it", async () => {
    const server = await guarded();
    for (const headers of [BEARER, {}]) {
      const id = await createSession(server, headers);
      const agent = await open(server, `/ws?session_id=${id}`);
      expect(await agent.ask(RESET)).toEqual(FORBIDDEN);
      expect(await agent.ask({ type: "mcp", data: TALLY })).toMatchObject({ data: { result: { data: 1 } } });
      agent.send({ type: "close" });
      await agent.closed;
      const holder = await open(server, `/ws?session_id=${id}`, BEARER);
      expect(await holder.ask(RESET)).toMatchObject({ type: "observation" });
    }
  });

  test("lets only the orchestrator end a session that it opened, on every transport", async () => {
    const server = await guarded();
    const id = await createSession(server, BEARER);
    const holder = await open(server, `/ws?session_id=${id}`, BEARER);
    const own = await open(server, "/ws", BEARER);
    const named = (await own.ask({ type: "mcp", data: rpc("openenv/session/create") })) as never;
    const ownId = (named as { data: { result: { session_id: string } } }).data.result.session_id;
    const agent = await open(server);
    const agentRpc = await open(server, "/mcp");
    for (const session_id of [id, ownId]) {
      const close = rpc("openenv/session/close", { session_id });
      const refused = { error: { code: -32000, data: { code: "FORBIDDEN" } } };
      expect(await post(server, close)).toMatchObject(refused);
      expect(await agentRpc.ask(close)).toMatchObject(refused);
      expect(await agent.ask({ type: "mcp", data: close })).toMatchObject({ data: refused });
    }
    expect(await holder.ask(RESET)).toMatchObject({ type: "observation" });
    holder.send({ type: "close" });
    await holder.closed;
    expect(await post(server, rpc("openenv/session/close", { session_id: id }), BEARER)).toMatchObject({
      result: { closed: true },
    });
  });

  test("lets any client end a session that was opened without the token", async () => {
    const server = await guarded();
    const session_id = await createSession(server);
    expect(await post(server, rpc("openenv/session/close", { session_id }))).toMatchObject({
      result: { closed: true },
    });
  });

  test("grants the right to a socket, not to the session that it attached to", async () => {
    const server = await guarded();
    const id = await createSession(server);
    const holder = await open(server, `/ws?session_id=${id}`, BEARER);
    expect(await holder.ask(RESET)).toMatchObject({ type: "observation" });
    holder.send({ type: "close" });
    await holder.closed;
    expect(await (await open(server, `/ws?session_id=${id}`)).ask(RESET)).toEqual(FORBIDDEN);
  });

  test("applies to sessions that share a socket", async () => {
    const server = await guarded();
    const reset = async (headers: Record<string, string>) => {
      const socket = await open(server, "/ws?openenv=batch", headers);
      await socket.ask({ type: "open_many", data: { count: 1 } });
      const { data } = (await socket.ask({ type: "reset_many", data: { items: [{ session: 0 }] } })) as never;
      return (data as { items: { type: string }[] }).items[0];
    };
    expect(await reset({})).toEqual({ ...FORBIDDEN, data: { ...FORBIDDEN.data, session: 0 } });
    expect(await reset(BEARER)).toMatchObject({ type: "observation" });
  });
});

test.each([
  ["in production without a token", { mode: "production" }],
  ["in simulation with one", { mode: "simulation", orchestratorToken: TOKEN }],
] as const)("every client may call everything %s", async (_where, options) => {
  const socket = await open(await start(options, defineDesk()));
  expect(await socket.ask(RESET)).toMatchObject({ type: "observation" });
});

test("the token can be set by a variable, and an empty option is an error", async () => {
  process.env["OPENENV_ORCHESTRATOR_TOKEN"] = TOKEN;
  try {
    const server = await start({ mode: "production" }, defineDesk());
    expect(await (await open(server)).ask(RESET)).toEqual(FORBIDDEN);
    expect(await (await open(server, "/ws", BEARER)).ask(RESET)).toMatchObject({ type: "observation" });
  } finally {
    delete process.env["OPENENV_ORCHESTRATOR_TOKEN"];
  }
  await expect(start({ orchestratorToken: " " }, defineDesk())).rejects.toMatchObject({ code: "INVALID_CONFIG" });
});
