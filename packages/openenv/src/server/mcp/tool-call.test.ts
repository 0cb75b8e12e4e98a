import { expect, test } from "vitest";
import { initialize, rpc, send, useMcp } from "../../../../../test-support/environments/mcp.js";
import { waitFor } from "../../../../../test-support/servers/servers.js";

const { start } = useMcp();

const request = (params: object, id: unknown = 1) => ({ ...rpc, id, method: "tools/call", params });

test("a call is answered as the SDK answers it, which gets those with other parameters", async () => {
  const { server } = await start({ maxMessageBytes: 5_000 });
  const session = await initialize(server.url);
  const ask = async (message: object, headers: Record<string, string> = {}) => {
    const response = await send(server.url, message, { ...session, ...headers });
    const { status } = response;
    return { status, session: response.headers.get("mcp-session-id"), body: await response.json() };
  };
  const calls: [name: string, given: object | undefined, outcome: object][] = [
    ["greet", { name: "Bo" }, { result: { structuredContent: { greeting: "Hello, Bo!" } } }],
    ["greet", { name: "x".repeat(3_000) }, { result: { structuredContent: {} } }],
    ["greet", { name: 1 }, { result: { isError: true } }],
    ["greet", undefined, { result: { isError: true } }],
    ["nothing", {}, { error: { code: -32602 } }],
  ];
  for (const [name, given, outcome] of calls) {
    const params = { name, ...(given !== undefined && { arguments: given }) };
    const direct = await ask(request(params, "a"));
    expect(direct).toMatchObject({ status: 200, session: session["mcp-session-id"], body: { id: "a", ...outcome } });
    expect(direct).toEqual(await ask(request({ ...params, more: 1 }, "a")));
  }
  const params = { name: "greet", arguments: { name: "Bo" } };
  const wrong: [message: object, headers: Record<string, string>, status: number][] = [
    [request(params), { accept: "application/json, */*", "mcp-protocol-version": "2025-11-25" }, 200],
    [request(params), { "content-type": "text/plain" }, 415],
    [request(params), { "mcp-protocol-version": "2024-01-01" }, 400],
    [request(params, 1.5), {}, 400],
    [{ ...request(params), more: 1 }, {}, 400],
  ];
  for (const [message, headers, status] of wrong) expect(await ask(message, headers)).toMatchObject({ status });
  expect(await ask(request({ ...params, arguments: [] }))).toMatchObject({ body: { error: { code: -32602 } } });
});

test("a cancelled call ends with an empty response, and others continue", async () => {
  const { server, log } = await start();
  const session = await initialize(server.url);
  const hang = (id: number) => send(server.url, request({ name: "hang" }, id), session);
  const one = hang(1);
  await waitFor(() => log.hanging === 1);
  const hanging = [one, hang(2)];
  const params = { requestId: 1, reason: "no more" };
  const cancelled = { jsonrpc: "2.0", method: "notifications/cancelled", params };
  for (let i = 0; i < 2; i++) expect((await send(server.url, cancelled, session)).status).toBe(202);
  const first = await hanging[0];
  expect([first?.status, await first?.text()]).toEqual([202, ""]);
  await waitFor(() => log.aborted.length === 1 && log.hanging === 1);
  await send(server.url, { ...cancelled, params: { requestId: 2 } }, session);
  expect((await hanging[1])?.status).toBe(202);
  const greeted = await send(server.url, request({ name: "greet", arguments: { name: "Bo" } }, 3), session);
  expect(await greeted.json()).toMatchObject({ id: 3, result: { content: [{ type: "text" }] } });
});
