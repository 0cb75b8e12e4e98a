import { describe, expect, test } from "vitest";
import { INITIALIZE, initialize, MCP_ACCEPT, rpc, send, useMcp } from "../../../../../test-support/environments/mcp.js";

const { start } = useMcp();
const ALONE = "text/event-stream";
const NAME = "run-7_worker-3_5f1c9a";

/** The messages of a body: one as JSON, or events. */
async function messagesOf(response: Response): Promise<unknown[]> {
  const text = await response.text();
  if (response.headers.get("content-type") !== ALONE) return [JSON.parse(text)];
  const events = text.split("\n\n").filter(Boolean);
  return events.map((event) => JSON.parse(event.replace("event: message\ndata: ", "")) as unknown);
}

describe.each([
  ["*/*", "application/json"],
  ["application/json", "application/json"],
  [MCP_ACCEPT, "application/json"],
  [ALONE, ALONE],
  ["text/html", "application/json"],
])("a client that accepts %s", (accept, type) => {
  test("initializes, lists and calls tools", async () => {
    const { server, active } = await start();
    const begun = await send(server.url, INITIALIZE, { accept });
    expect([begun.status, begun.headers.get("content-type")]).toEqual([200, type]);
    expect(await messagesOf(begun)).toMatchObject([{ id: 1, result: { serverInfo: { name: "desk_env" } } }]);
    const headers = { accept, "mcp-session-id": begun.headers.get("mcp-session-id") ?? "" };
    const ask = async (method: string, params: object) => {
      const response = await send(server.url, { ...rpc, method, params }, headers);
      expect([response.status, response.headers.get("content-type")]).toEqual([200, type]);
      return messagesOf(response);
    };
    expect(await ask("tools/list", {})).toMatchObject([{ result: { tools: expect.any(Array) } }]);
    for (const count of [1, 2]) {
      expect(await ask("tools/call", { name: "tally" })).toMatchObject([
        { result: { structuredContent: { result: count } } },
      ]);
    }
    expect(await ask("tools/call", { name: "pause" })).toMatchObject([
      { id: 1, result: { content: [{ type: "text" }] } },
    ]);
    expect(active()).toBe(1);
  });
});

describe("an initialize", () => {
  test.each(["", `/session/${NAME}`])("with the id of a session that has ended starts a new one%s", async (address) => {
    const { server } = await start();
    const url = server.url + address;
    const stale = { "mcp-session-id": "w2-0b0c9f8e-5c1d-4a8e-9a43-0f3e0f6f7d11" };
    expect((await send(url, { ...rpc, method: "tools/list" }, stale)).status).toBe(404);
    const begun = await send(url, INITIALIZE, stale);
    expect(await begun.json()).toMatchObject({ id: 1, result: { protocolVersion: "2025-06-18" } });
    const id = begun.headers.get("mcp-session-id") ?? "";
    expect(id).not.toBe(stale["mcp-session-id"]);
    const call = { ...rpc, method: "tools/call", params: { name: "tally" } };
    expect(await (await send(url, call, { "mcp-session-id": id })).json()).toMatchObject({ id: 1, result: {} });
  });

  test("with the id of an open session is refused, and the session continues", async () => {
    const { server, active } = await start();
    const session = await initialize(server.url);
    expect((await send(server.url, INITIALIZE, session)).status).toBe(400);
    expect((await send(server.url, { ...rpc, method: "ping" }, session)).status).toBe(200);
    expect(active()).toBe(1);
  });
});
