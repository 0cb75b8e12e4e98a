import { describe, expect, test, vi } from "vitest";
import {
  INITIALIZE,
  initialize,
  MCP_ACCEPT,
  openAndCutStream,
  rpc,
  send,
  useMcp,
} from "../../../../../test-support/environments/mcp.js";
import { WITH_OPERATOR } from "../../../../../test-support/operator.js";
import { countWaiting, waitFor } from "../../../../../test-support/servers/servers.js";
import { openTestSocket } from "../../../../../test-support/sockets/socket.js";

const { start, open } = useMcp();

describe("an MCP client with a session", () => {
  test("receives the name and the capabilities of the server", async () => {
    const { server } = await start();
    const { client, transport } = await open(server);
    expect(client.getServerVersion()).toEqual({ name: "desk_env", version: "1.0.0" });
    expect(client.getServerCapabilities()).toEqual({ tools: {} });
    expect(client.getInstructions()).toBe("A desk with tools.");
    expect(transport.sessionId).toMatch(/^[0-9a-f-]{36}$/);
    expect(await client.ping()).toEqual({});
  });

  test("is answered with JSON, and a notification with an empty response", async () => {
    const { server } = await start();
    const session = await initialize(server.url);
    const initialized = { jsonrpc: "2.0", method: "notifications/initialized" };
    const accepted = await send(server.url, initialized, session);
    expect([accepted.status, await accepted.text()]).toEqual([202, ""]);
    const answer = await send(server.url, { ...rpc, method: "ping" }, session);
    expect(answer.headers.get("content-type")).toBe("application/json");
    expect(await answer.json()).toEqual({ ...rpc, result: {} });
  });

  test("lists the tools with their schemas", async () => {
    const { server } = await start();
    const { tools } = await (await open(server)).client.listTools();
    expect(tools[1]).toEqual({
      name: "greet",
      title: "Greeter",
      description: "Greets.",
      inputSchema: {
        type: "object",
        properties: { name: { type: "string" } },
        required: ["name"],
        additionalProperties: false,
      },
      outputSchema: { type: "object", properties: { greeting: { type: "string" } }, required: ["greeting"] },
    });
  });

  test("receives structured content: an object unchanged, any other value in `result`", async () => {
    const { server } = await start();
    const { client } = await open(server);
    expect(await client.callTool({ name: "greet", arguments: { name: "Bo" } })).toMatchObject({
      content: [{ type: "text", text: '{"greeting":"Hello, Bo!"}' }],
      structuredContent: { greeting: "Hello, Bo!" },
    });
    expect(await client.callTool({ name: "add", arguments: { a: 1, b: 2 } })).toMatchObject({
      content: [{ type: "text", text: "3" }],
      structuredContent: { result: 3 },
    });
  });

  test("receives failures as results, and an unknown tool as an error", async () => {
    const { server } = await start();
    const { client } = await open(server);
    const failures = { fail: { why: "no luck" }, add: { a: "x" }, late: {}, nest: {} };
    const types = [];
    for (const [name, given] of Object.entries(failures)) {
      const { isError, _meta } = await client.callTool({ name, arguments: given });
      types.push([isError, _meta?.["openenv/error_type"]]);
    }
    expect(types).toEqual([
      [true, "execution_error"],
      [true, "invalid_args"],
      [true, "timeout"],
      [true, "execution_error"],
    ]);
    await expect(client.callTool({ name: "nope" })).rejects.toMatchObject({ code: -32602 });
    expect(await client.callTool({ name: "add", arguments: { a: 1 } })).toMatchObject({
      structuredContent: { result: 2 },
    });
  });

  test("has its own environment session, which its DELETE ends", async () => {
    const { server, log, active } = await start();
    const [one, two] = [await open(server), await open(server)];
    await one.client.callTool({ name: "tally" });
    expect(await one.client.callTool({ name: "tally" })).toMatchObject({ structuredContent: { result: 2 } });
    expect(await two.client.callTool({ name: "tally" })).toMatchObject({ structuredContent: { result: 1 } });
    expect([active(), log.created]).toEqual([2, 2]);
    await one.transport.terminateSession();
    expect([active(), log.closed]).toEqual([1, 1]);
    await expect(send(server.url, { ...rpc, method: "ping" }, { "mcp-session-id": "gone" })).resolves.toMatchObject({
      status: 404,
    });
  });

  test("counts against the capacity and is rejected with its code", async () => {
    const { server } = await start({ maxConcurrentEnvs: 1 });
    const { transport } = await open(server);
    await expect(open(server)).rejects.toMatchObject({
      code: -32000,
      data: { code: "CAPACITY_REACHED", active_sessions: 1, max_sessions: 1 },
    });
    await transport.terminateSession();
    await open(server);
  });

  test("waits for a session in the queue, and leaves the queue when it disconnects", async () => {
    const { server, active } = await start({ ...WITH_OPERATOR, maxConcurrentEnvs: 1, queueSize: 1, queueTimeout: 30 });
    const { transport } = await open(server);
    const gone = new AbortController();
    const given = { method: "POST", headers: { accept: MCP_ACCEPT, "content-type": "application/json" } };
    const waiting = fetch(`${server.url}/mcp`, { ...given, body: JSON.stringify(INITIALIZE), signal: gone.signal });
    const left = waiting.catch((error: Error) => error.name);
    await expect.poll(() => countWaiting(server.url)).toBe(1);
    gone.abort();
    expect(await left).toBe("AbortError");
    await expect.poll(() => countWaiting(server.url)).toBe(0);
    const next = open(server);
    await expect.poll(() => countWaiting(server.url)).toBe(1);
    await transport.terminateSession();
    await next;
    expect(active()).toBe(1);
  });

  test("cancels a call by a notification, and the session continues", async () => {
    const { server, log } = await start();
    const { client } = await open(server);
    const cancel = new AbortController();
    const call = client.callTool({ name: "hang" }, { signal: cancel.signal }).catch((error: Error) => error.message);
    await waitFor(() => log.hanging === 1);
    cancel.abort(new Error("no more"));
    expect(await call).toContain("no more");
    await waitFor(() => log.aborted.length === 1);
    expect(await client.ping()).toEqual({});
  });

  test("times out when idle, unless it keeps its stream open", async () => {
    vi.useFakeTimers({ toFake: ["Date", "performance", "setInterval", "clearInterval"] });
    try {
      const { server, log, active } = await start({ sessionTimeout: 3 });
      const [session, held] = [await initialize(server.url), await initialize(server.url)];
      await (await send(server.url, { jsonrpc: "2.0", method: "notifications/initialized" }, held)).text();
      const leaving = new AbortController();
      const stream = { headers: { accept: "text/event-stream", ...held }, signal: leaving.signal };
      expect((await fetch(`${server.url}/mcp`, stream)).status).toBe(200);
      const pass = () => vi.advanceTimersByTime(1_000);
      await expect.poll(() => pass() && log.closed).toBe(1);
      const late = await send(server.url, { ...rpc, method: "tools/list" }, session);
      expect([late.status, await late.json()]).toMatchObject([404, { error: { code: -32001 } }]);
      expect((await send(server.url, { ...rpc, method: "ping" }, held)).status).toBe(200);
      leaving.abort();
      await expect.poll(() => pass() && active()).toBe(0);
    } finally {
      vi.useRealTimers();
    }
  });

  test.each([900, null])(
    "loses its session after 10 s if it only initializes, whatever the timeout: %s",
    async (limit) => {
      vi.useFakeTimers({ toFake: ["Date", "performance", "setInterval", "clearInterval"] });
      try {
        const { server, log, active } = await start({ sessionTimeout: limit });
        const [silent, talking] = [await initialize(server.url), await initialize(server.url)];
        await (await send(server.url, { jsonrpc: "2.0", method: "notifications/initialized" }, talking)).text();
        vi.advanceTimersByTime(9_000);
        expect(active()).toBe(2);
        vi.advanceTimersByTime(6_000);
        expect([active(), log.closed]).toEqual([1, 1]);
        const asked = [silent, talking].map((session) => send(server.url, { ...rpc, method: "ping" }, session));
        expect((await Promise.all(asked)).map(({ status }) => status)).toEqual([404, 200]);
      } finally {
        vi.useRealTimers();
      }
    },
  );

  test("can open its stream again after it was closed", async () => {
    const { server } = await start();
    const session = await initialize(server.url);
    for (let round = 0; round < 3; round++) await openAndCutStream(server.url, session);
  });

  test("does not delay the stop of the server", async () => {
    const { server, log } = await start({ graceMs: 20_000 });
    await open(server);
    await open(server, { revision: "newest" });
    await server.close();
    expect(log.closed).toBe(1);
  });

  test("lets calls in flight finish when the server stops", async () => {
    const { server, log } = await start({ graceMs: 5_000 });
    const { client } = await open(server);
    const call = client.callTool({ name: "pause" });
    await waitFor(() => log.pauses === 1);
    await server.close();
    expect(await call).toMatchObject({ structuredContent: { result: "rested" } });
  });

  test("keeps its tools in production, where only the orchestrator may reset", async () => {
    const { server } = await start({ mode: "production", orchestratorToken: "secret" });
    const { client, transport } = await open(server);
    expect(await client.callTool({ name: "add", arguments: { a: 1 } })).toMatchObject({
      structuredContent: { result: 2 },
    });
    await using socket = await openTestSocket(`${server.url}/ws?session_id=${transport.sessionId}`, {});
    expect(await socket.ask({ type: "reset", data: {} })).toMatchObject({ data: { code: "FORBIDDEN" } });
  });

  test("can use the session of an orchestrator by its id, and does not end it", async () => {
    const { server, log, active } = await start({ mode: "production", orchestratorToken: "secret" });
    const headers = { authorization: "Bearer secret" };
    await using socket = await openTestSocket(`${server.url}/ws`, { headers });
    const created = await socket.ask({ type: "mcp", data: { ...rpc, method: "openenv/session/create" } });
    const id = (created as { data: { result: { session_id: string } } }).data.result.session_id;
    expect(await socket.ask({ type: "reset", data: { tally: 5 } })).toMatchObject({ type: "observation" });
    const { client, transport } = await open(server, { headers: { "openenv-session": id } });
    expect(await client.callTool({ name: "tally" })).toMatchObject({ structuredContent: { result: 6 } });
    await transport.terminateSession();
    expect([active(), log.created]).toEqual([1, 1]);
    expect(await socket.ask({ type: "reset", data: {} })).toMatchObject({ type: "observation" });
  });

  test("replaces another client whose session it names, and the session continues", async () => {
    const { server, log, active } = await start();
    const first = await open(server);
    await first.client.callTool({ name: "tally" });
    const id = first.transport.sessionId ?? "";
    const second = await open(server, { headers: { "openenv-session": id } });
    expect(await second.client.callTool({ name: "tally" })).toMatchObject({ structuredContent: { result: 2 } });
    expect([active(), log.created, log.closed]).toEqual([1, 1, 0]);
  });

  test("ends when its session is ended by another client", async () => {
    const { server } = await start();
    const session = await initialize(server.url);
    const params = { session_id: session["mcp-session-id"] };
    const plain = { method: "POST", body: JSON.stringify({ ...rpc, method: "openenv/session/close", params }) };
    expect(await (await fetch(`${server.url}/mcp`, plain)).json()).toMatchObject({ result: { closed: true } });
    expect((await send(server.url, { ...rpc, method: "ping" }, session)).status).toBe(404);
  });

  test("loses the connection of a call that runs when its session ends: there is no answer", async () => {
    const { server, log } = await start();
    const session = await initialize(server.url);
    const call = { ...rpc, method: "tools/call", params: { name: "hang" } };
    const lost = expect(send(server.url, call, session)).rejects.toThrow("fetch failed");
    await waitFor(() => log.hanging === 1);
    await fetch(`${server.url}/mcp`, { method: "DELETE", headers: session });
    await lost;
  });
});
