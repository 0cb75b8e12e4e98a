import { expect, test } from "vitest";
import { initialize, rpc, send, useMcp } from "../../../../../test-support/environments/mcp.js";
import { openTestSocket } from "../../../../../test-support/sockets/socket.js";

const { start, open } = useMcp();
const NAME = "run-7_worker-3_5f1c9a";

const tally = async ({ client }: Awaited<ReturnType<typeof open>>): Promise<unknown> =>
  (await client.callTool({ name: "tally" })).structuredContent;
const stepOf = async (url: string): Promise<unknown> => {
  const action = { type: "call_tool", tool_name: "tally", arguments: {} };
  const headers = { "content-type": "application/json" };
  return (await fetch(`${url}/step`, { method: "POST", headers, body: JSON.stringify({ action }) })).json();
};

test("an MCP client at an address has the session of the address, like HTTP requests and sockets", async () => {
  const { server, log, active } = await start();
  const url = `${server.url}/session/${NAME}`;
  await fetch(`${url}/reset`, { method: "POST", headers: { "content-type": "application/json" }, body: "{}" });
  const opened = await open({ url });
  expect(await tally(opened)).toEqual({ result: 1 });
  expect(await stepOf(url)).toMatchObject({ observation: { result: { data: 2 } } });
  await using socket = await openTestSocket(`${url}/ws`);
  const step = { type: "step", data: { type: "call_tool", tool_name: "tally", arguments: {} } };
  expect(await socket.ask(step)).toMatchObject({ data: { observation: { result: { data: 3 } } } });
  expect(await tally(opened)).toEqual({ result: 4 });
  expect([active(), log.created]).toEqual([1, 1]);
});

test("an MCP client that returns to its address continues, and its end does not end the session", async () => {
  const { server, log, active } = await start();
  const url = `${server.url}/session/${NAME}`;
  const first = await open({ url });
  const id = first.transport.sessionId;
  expect(await tally(first)).toEqual({ result: 1 });
  await first.transport.terminateSession();
  expect(active()).toBe(1);
  const second = await open({ url });
  expect(await tally(second)).toEqual({ result: 2 });
  // It may have gone without a word, too.
  const third = await open({ url });
  expect(await tally(third)).toEqual({ result: 3 });
  expect(third.transport.sessionId).toBe(id);
  expect([active(), log.created, log.closed]).toEqual([1, 1, 0]);
});

test("an id of another session is refused below an address, and the id of an address elsewhere", async () => {
  const { server } = await start();
  const url = `${server.url}/session/${NAME}`;
  const [own, other] = [await initialize(url), await initialize(server.url)];
  expect((await send(url, { ...rpc, method: "tools/list" }, other)).status).toBeGreaterThanOrEqual(400);
  expect((await fetch(`${url}/mcp`, { method: "DELETE", headers: other })).status).toBeGreaterThanOrEqual(400);
  const elsewhere = `${server.url}/session/another_${NAME}`;
  expect((await send(elsewhere, { ...rpc, method: "tools/list" }, own)).status).toBeGreaterThanOrEqual(400);
  for (const [place, header] of [
    [url, own],
    [server.url, other],
  ] as const) {
    expect((await send(place, { ...rpc, method: "ping" }, header)).status).toBe(200);
  }
});

test.each([
  ["no JSON", "{"],
  ["no request", { hello: "world" }],
  ["initialize without what it needs", { ...rpc, method: "initialize", params: {} }],
])("%s of an MCP client opens no session at an address", async (_what, body) => {
  const { server, active } = await start();
  const { status } = await send(`${server.url}/session/${NAME}`, body);
  expect(status).toBeGreaterThanOrEqual(400);
  expect(active()).toBe(0);
});
