import { describe, expect, test } from "vitest";
import { INITIALIZE, initialize, rpc, send, useMcp } from "../../../../../test-support/environments/mcp.js";
import { DESK_TOOLS } from "../../../../../test-support/environments/tool-environment.js";
import { waitFor } from "../../../../../test-support/servers/servers.js";

const { start, open } = useMcp();

describe("a client of the revision without sessions", () => {
  test("has a separate environment for each call", async () => {
    const { server, log, active } = await start();
    const { client, transport } = await open(server, { revision: "newest" });
    expect([client.getNegotiatedProtocolVersion(), transport.sessionId]).toEqual(["2026-07-28", undefined]);
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(DESK_TOOLS);
    expect(log.created).toBe(0);
    for (let round = 0; round < 2; round++) {
      expect(await client.callTool({ name: "tally" })).toMatchObject({ structuredContent: { result: 1 } });
    }
    expect([active(), log.created, log.closed]).toEqual([0, 2, 2]);
    await expect(client.callTool({ name: "nope" })).rejects.toMatchObject({ code: -32602 });
    expect(await client.callTool({ name: "fail", arguments: { why: "x" } })).toMatchObject({ isError: true });
  });

  test("plays in the session that its cookie or its header names", async () => {
    const { server, log } = await start();
    const reset = await fetch(`${server.url}/reset`, { method: "POST" });
    const cookie = (reset.headers.get("set-cookie") ?? "").split(";")[0] ?? "";
    const session = reset.headers.get("openenv-session") ?? "";
    const named = [{ cookie }, { "openenv-session": session }];
    for (const [index, headers] of named.entries()) {
      const { client } = await open(server, { revision: "newest", headers });
      expect(await client.callTool({ name: "tally" })).toMatchObject({ structuredContent: { result: index + 1 } });
    }
    expect(log.created).toBe(1);
    await expect(open(server, { revision: "newest", headers: { "openenv-session": "gone" } })).rejects.toThrow();
  });

  test("cancels a call by disconnecting", async () => {
    const { server, log } = await start();
    const { client } = await open(server, { revision: "newest" });
    const cancel = new AbortController();
    const call = client.callTool({ name: "hang" }, { signal: cancel.signal }).catch(() => "left");
    await waitFor(() => log.hanging === 1);
    cancel.abort();
    expect(await call).toBe("left");
    await waitFor(() => log.closed === 1 && log.hanging === 0);
  });
});

describe("both kinds of client at one address", () => {
  test("plain JSON-RPC is answered as before, also an initialize without a revision", async () => {
    const { server } = await start();
    const plain = { method: "POST", body: JSON.stringify({ ...INITIALIZE, params: {} }) };
    expect(await (await fetch(`${server.url}/mcp`, plain)).json()).toEqual({
      ...rpc,
      error: { code: -32601, message: "Method not found: initialize", data: { fault: "client" } },
    });
    for (const method of ["GET", "DELETE"]) {
      const response = await fetch(`${server.url}/mcp`, { method });
      expect([response.status, response.headers.get("allow")]).toEqual([405, "POST"]);
    }
  });

  test("a JSON-RPC client and an MCP client share a session by its id", async () => {
    const { server } = await start();
    const { client, transport } = await open(server);
    await client.callTool({ name: "tally" });
    const params = { name: "tally", arguments: {}, session_id: transport.sessionId };
    const plain = { method: "POST", body: JSON.stringify({ ...rpc, method: "tools/call", params }) };
    expect(await (await fetch(`${server.url}/mcp`, plain)).json()).toMatchObject({ result: { data: 2 } });
  });

  test("mistakes are answered with MCP's errors", async () => {
    const { server, active } = await start();
    const cases: [object | string, Record<string, string>, number, number][] = [
      ["{", {}, 400, -32700],
      [{ ...rpc, method: "tools/list" }, {}, 400, -32000],
      [{ ...rpc, method: "tools/list" }, { "mcp-session-id": "gone" }, 404, -32001],
      [INITIALIZE, { "content-type": "text/plain" }, 415, -32000],
      [{ ...rpc, method: "tools/list" }, { "mcp-protocol-version": "2026-07-28" }, 400, -32602],
      [INITIALIZE, { "openenv-session": "gone" }, 404, -32001],
      [{ ...INITIALIZE, params: {} }, {}, 400, -32602],
      [[INITIALIZE], {}, 400, -32000],
    ];
    for (const [body, headers, status, code] of cases) {
      const response = await send(server.url, body, headers);
      expect([response.status, await response.json()]).toMatchObject([status, { error: { code } }]);
    }
    expect(active()).toBe(0);
  });

  test("an unknown revision of MCP is answered with the supported ones", async () => {
    const { server } = await start();
    const unknown = "2099-01-01";
    const params = { ...INITIALIZE.params, protocolVersion: unknown };
    const begun = await send(server.url, { ...INITIALIZE, params });
    expect(await begun.text()).toContain('"protocolVersion":"2025-11-25"');
    const session = { "mcp-session-id": begun.headers.get("mcp-session-id") ?? "" };
    const header = { "mcp-protocol-version": unknown };
    const inSession = await send(server.url, { ...rpc, method: "ping" }, { ...session, ...header });
    expect([inSession.status, await inSession.text()]).toEqual([
      400,
      expect.stringContaining("2025-11-25, 2025-06-18"),
    ]);
    expect((await send(server.url, { ...rpc, method: "ping" }, session)).status).toBe(200);
    const _meta = {
      "io.modelcontextprotocol/protocolVersion": unknown,
      "io.modelcontextprotocol/clientInfo": { name: "x", version: "1" },
      "io.modelcontextprotocol/clientCapabilities": {},
    };
    const alone = await send(server.url, { ...rpc, method: "tools/list", params: { _meta } }, header);
    expect([alone.status, await alone.json()]).toMatchObject([400, { error: { data: { supported: ["2026-07-28"] } } }]);
  });

  test("a page of a foreign origin is rejected", async () => {
    const { server, active } = await start();
    const foreign = { origin: "https://example.org" };
    expect((await send(server.url, INITIALIZE, foreign)).status).toBe(403);
    const session = await initialize(server.url);
    for (const accept of ["text/event-stream", "*/*"]) {
      const stream = await fetch(`${server.url}/mcp`, { headers: { ...session, ...foreign, accept } });
      expect(stream.status).toBe(403);
    }
    const ending = await fetch(`${server.url}/mcp`, { method: "DELETE", headers: { ...session, ...foreign } });
    expect([ending.status, active()]).toEqual([403, 1]);
  });

  test("a page of an allowed origin may send and read the headers of MCP", async () => {
    const { server } = await start({ allowedOrigins: ["https://example.org"] });
    const headers = { origin: "https://example.org", "access-control-request-method": "DELETE" };
    const preflight = await fetch(`${server.url}/mcp`, { method: "OPTIONS", headers });
    expect(preflight.headers.get("access-control-allow-methods")).toContain("DELETE");
    expect(preflight.headers.get("access-control-allow-headers")).toContain("mcp-session-id");
    const response = await send(server.url, INITIALIZE, { origin: "https://example.org" });
    expect(response.headers.get("access-control-expose-headers")).toContain("mcp-session-id");
    await response.text();
  });

  test("an environment without tools answers with an error and opens no session", async () => {
    const { server } = await start({}, { bare: true });
    await expect(open(server)).rejects.toMatchObject({ code: -32603 });
    const modern = await send(server.url, { ...rpc, method: "tools/list" }, { "mcp-protocol-version": "2026-07-28" });
    expect(await modern.json()).toMatchObject({ error: { code: -32603 } });
    expect(server.capacity().active_sessions).toBe(0);
  });

  test("a failing factory is reported, and nothing leaks", async () => {
    const { server } = await start({}, { broken: true });
    await expect(open(server)).rejects.toMatchObject({ code: -32000, data: { code: "FACTORY_ERROR" } });
    expect(server.capacity().active_sessions).toBe(0);
  });
});
