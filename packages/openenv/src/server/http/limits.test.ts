import { once } from "node:events";
import { request as httpRequest } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { text } from "node:stream/consumers";
import { afterEach, beforeEach, expect, test } from "vitest";
import * as z from "zod";
import { ByteBudget } from "#parts/sockets/scheduling";
import { createContext } from "../../../../../test-support/environments/context.js";
import { waitFor } from "../../../../../test-support/servers/servers.js";
import { createNodeServer } from "../../../../sockets/src/runtimes/node.js";
import { createTasks, defineContract, defineEnvironment } from "../../index.js";
import { createRuntime } from "../../session/runtime.js";
import { createRoutes } from "../routes/routes.js";
import { createRouter } from "./router.js";

const BUDGET = 100_000;

/** Answers a text of so many characters. */
const environment = defineEnvironment(
  defineContract({
    name: "text_env",
    action: z.object({ size: z.int() }),
    observation: z.object({ text: z.string() }),
  }),
  () => ({
    reset: () => ({ observation: { text: "" } }),
    step: ({ size }) => ({ observation: { text: "x".repeat(size) } }),
  }),
  { tasks: createTasks({ train: [{ text: "short" }, { text: "x".repeat(500) }] }) },
);

let port: number;
let close: () => Promise<void>;
const bodies = new ByteBudget(BUDGET);

beforeEach(async () => {
  const runtime = createRuntime(environment, { maxAnswerBytes: 200 });
  const context = await createContext(runtime, { maxMessageBytes: 80_000, bodies });
  const handle = createRouter(context, createRoutes({ mode: "simulation", webInterface: false }));
  const server = createNodeServer({ context, handle, upgrade() {} }).listen(0, "127.0.0.1");
  await once(server, "listening");
  port = (server.address() as AddressInfo).port;
  close = async () => {
    server.closeAllConnections();
    server.close();
    await once(server, "close");
    await context.sessions.endAll("the test is over", 1_000);
  };
});
afterEach(() => close());

/** Sends the start of a body and leaves it there. */
async function hang(bytes: number) {
  const socket = connect(port, "127.0.0.1");
  socket.on("error", () => {});
  socket.write(`POST /step HTTP/1.1\r\nHost: localhost\r\nContent-Length: 70000\r\n\r\n${"x".repeat(bytes)}`);
  await once(socket, "connect");
  return socket;
}

function post(body: string, path = "/step"): Promise<Response> {
  const headers = { "content-type": "application/json" };
  return fetch(`http://127.0.0.1:${port}${path}`, { method: "POST", headers, body });
}

test("bodies that are more bytes together than their budget are refused, and the budget comes back", async () => {
  const [one, other] = [await hang(60_000), await hang(39_990)];
  await waitFor(() => bodies.used === 99_990);
  const refused = await post('{"action":{"size":1}}');
  expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "1"]);
  expect(await refused.json()).toMatchObject({ code: "CAPACITY_REACHED" });
  one.destroy();
  await waitFor(() => bodies.used === 39_990);
  expect((await post('{"action":{"size":1}}')).status).toBe(200);
  other.destroy();
  await waitFor(() => bodies.used === 0);
});

test("who sends too much gets to read why, also when its length was not announced", async () => {
  for (const headers of [{ "content-length": 5_000_000 }, {}]) {
    const request = httpRequest({ port, path: "/step", method: "POST", headers });
    request.on("error", () => {}).end("x".repeat(5_000_000));
    const [response] = await once(request, "response");
    expect(response.statusCode).toBe(413);
    expect(await text(response)).toContain("the body is larger than 80000 bytes (MAX_MESSAGE_BYTES)");
  }
  expect(bodies.used).toBe(0);
});

test("an answer over the limit is an error, not an answer", async () => {
  expect((await post('{"action":{"size":50}}')).status).toBe(200);
  const large = await post('{"action":{"size":500}}');
  expect(large.status).toBe(500);
  expect(await large.json()).toEqual({
    detail: expect.stringMatching(
      /^the answer cannot be sent: the answer is larger than 200 bytes: observation\.\w+ has 50\d characters of JSON; no setting raises this limit$/,
    ),
    code: "EXECUTION_ERROR",
    fault: "environment",
  });
  const rpc = await fetch(`http://127.0.0.1:${port}/mcp`, {
    method: "POST",
    body: JSON.stringify({ jsonrpc: "2.0", id: "y".repeat(300), method: "openenv/session/create" }),
  });
  expect(await rpc.json()).toMatchObject({ id: "y".repeat(300), error: { code: -32603 } });
});

test("tasks over the limit are an error, and smaller ones still come", async () => {
  const wanted: [path: string, body: string, status: number][] = [
    ["task", '{"split":"train","index":0}', 200],
    ["task", '{"split":"train","index":1}', 500],
    ["tasks", '{"split":"train"}', 500],
    ["task_range", '{"split":"train","stop":1}', 200],
    ["task_range", '{"split":"train"}', 500],
  ];
  for (const [path, body, status] of wanted) {
    const response = await post(body, `/text_env/${path}`);
    const answer = (await response.json()) as { detail?: string };
    expect([path, response.status]).toEqual([path, status]);
    if (status === 500) expect(answer.detail).toContain("larger than 200 bytes");
  }
});
