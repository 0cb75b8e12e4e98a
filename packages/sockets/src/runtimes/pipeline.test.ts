import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { afterEach, beforeEach, expect, test } from "vitest";
import * as z from "zod";
import { createContext } from "../../../../test-support/environments/context.js";
import { waitFor } from "../../../../test-support/servers/servers.js";
import { pipelineRequests, renderRequest } from "../../../../test-support/sockets/pipelined-requests.js";
import { defineContract, defineEnvironment } from "../../../openenv/src/index.js";
import { createRouter } from "../../../openenv/src/server/http/router.js";
import { createRoutes } from "../../../openenv/src/server/routes/routes.js";
import { createRuntime } from "../../../openenv/src/session/runtime.js";
import { Backlog } from "../limits/backlog.js";
import { ByteBudget } from "../scheduling/byte-budget.js";
import { createNodeServer } from "./node.js";

const KB = 1024;
const MB = 1024 * KB;
/** Steps that are 0 answer when the test lets them. */
let waiting: (() => void)[] = [];
const environment = defineEnvironment(
  defineContract({
    name: "slow_env",
    action: z.object({ n: z.int(), text: z.string().default("") }),
    observation: z.object({ n: z.int() }),
  }),
  () => ({
    reset: () => ({ observation: { n: 0 } }),
    step: ({ n }) =>
      n > 0 ? { observation: { n } } : new Promise((resolve) => waiting.push(() => resolve({ observation: { n } }))),
  }),
);
const step = (n: number, text = ""): string => renderRequest("/step", { action: { n, text } });

let server: Server;
let backlog: Backlog;
let bodies: ByteBudget;
let sockets: Socket[];
beforeEach(async () => {
  waiting = [];
  sockets = [];
  backlog = new Backlog(256 * MB);
  bodies = new ByteBudget(256 * MB);
  const context = await createContext(createRuntime(environment), { backlog, bodies, maxMessageBytes: 16 * MB });
  const handle = createRouter(context, createRoutes({ mode: "simulation", webInterface: false }));
  server = createNodeServer({ context, handle, upgrade() {} });
  server.on("connection", (socket: Socket) => sockets.push(socket));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
});
afterEach(async () => {
  server.closeAllConnections();
  server.close();
  await once(server, "close");
  for (const answer of waiting) answer();
  await waitFor(() => backlog.used === 0 && bodies.used === 0);
});

const send = (requests: string | Iterable<string>): Socket =>
  pipelineRequests((server.address() as AddressInfo).port, requests);
const bytesRead = (): number => sockets.reduce((sum, socket) => sum + socket.bytesRead, 0);
const settle = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 300));

function* many(count: number, request: string, first: string): Generator<string> {
  yield first;
  for (let sent = 0; sent < count; sent += 1000) yield request.repeat(1000);
}

test("behind a slow step at most one read of requests waits, however many are sent, and all are answered", async () => {
  const health = renderRequest("/health");
  const count = 10_000;
  const client = send(many(count, health, step(0)));
  let answered = 0;
  client.on("data", (chunk: Buffer) => (answered += chunk.toString("latin1").split("HTTP/1.1 200").length - 1));
  await waitFor(() => waiting.length === 1 && bytesRead() > 0);
  await settle();
  expect(bytesRead()).toBeLessThanOrEqual(2 * 64 * KB);
  expect(backlog.used).toBeLessThanOrEqual(4 * KB * (16 + Math.ceil((64 * KB) / health.length)));
  waiting[0]?.();
  let most = 0;
  await waitFor(() => {
    most = Math.max(most, backlog.used);
    return answered >= count;
  });
  expect(most).toBeLessThanOrEqual(4 * KB * (16 + Math.ceil((64 * KB) / health.length)));
  client.destroy();
});

test("slow steps on one connection let in one read for each answer, and answers keep their order", async () => {
  const order = Array.from({ length: 400 }, (_, i) => (i % 10 === 0 ? 0 : i));
  const client = send(order.map((n) => step(n, "x".repeat(2000))).join(""));
  let text = "";
  client.setEncoding("latin1").on("data", (chunk) => (text += chunk));
  for (let nth = 0; nth < 40; nth++) {
    await waitFor(() => waiting.length > nth);
    // The requests of one read, and the 16 before it.
    expect(backlog.used).toBeLessThanOrEqual(4 * KB * (16 + (64 * KB) / 2000));
    waiting[nth]?.();
  }
  await waitFor(() => text.split('"n":').length > 400);
  expect([...text.matchAll(/"n":(\d+)/g)].map((found) => Number(found[1]))).toEqual(order);
  client.destroy();
}, 30_000);

test("large bodies behind a slow step are not read before it is their turn", async () => {
  const client = send(many(1000, "", step(0) + step(1, "x".repeat(10 * MB)) + step(2, "x".repeat(10 * MB))));
  let text = "";
  client.setEncoding("latin1").on("data", (chunk) => (text += chunk));
  await waitFor(() => waiting.length === 1);
  await settle();
  expect(bytesRead()).toBeLessThan(256 * KB);
  // The body of the slow step alone.
  expect(bodies.used).toBeLessThan(KB);
  waiting[0]?.();
  await waitFor(() => text.split('"n":').length > 3);
  expect([...text.matchAll(/"n":(\d+)/g)].map((found) => found[1])).toEqual(["0", "1", "2"]);
  client.destroy();
});

test("with a full backlog one request waits, and the connection is read again when there is room", async () => {
  backlog.hold(256 * MB);
  const client = send(step(0) + step(0));
  let answered = 0;
  client.on("data", (chunk: Buffer) => (answered += chunk.toString("latin1").split("HTTP/1.1 200").length - 1));
  await waitFor(() => waiting.length === 1);
  client.write(step(1) + step(2));
  await settle();
  backlog.give(256 * MB);
  for (let nth = 0; nth < 2; nth++) {
    await waitFor(() => waiting.length > nth);
    waiting[nth]?.();
  }
  await waitFor(() => answered === 4);
  client.destroy();
});

test("connections that are cut give back what their requests held", async () => {
  for (let i = 0; i < 5; i++) send(many(10_000, renderRequest("/health"), step(0)));
  await waitFor(() => waiting.length === 5 && backlog.used > 0);
  for (const socket of sockets) socket.destroy();
  await waitFor(() => backlog.used === 0);
});

test("a body is charged until its request has been handled, also when its client has left before its turn", async () => {
  const first = send(step(0));
  await waitFor(() => waiting.length === 1);
  const large = "x".repeat(2 * MB);
  const post = async (headers: Record<string, string>, body: object, signal?: AbortSignal): Promise<Response> => {
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const options = { method: "POST", body: JSON.stringify(body), ...(signal && { signal }) };
    return fetch(`${url}${"action" in body ? "/step" : "/reset"}`, {
      ...options,
      headers: { "content-type": "application/json", ...headers },
    });
  };
  const session = (await post({}, {})).headers.get("openenv-session") ?? "";
  const slow = post({ "openenv-session": session }, { action: { n: 0 } });
  await waitFor(() => waiting.length === 2);
  const before = bodies.used;
  for (let i = 0; i < 3; i++) {
    const leaving = new AbortController();
    const left = post({ "openenv-session": session }, { action: { n: 1, text: large } }, leaving.signal);
    left.catch(() => {});
    await waitFor(() => bodies.used >= before + (i + 1) * 2 * MB);
    leaving.abort();
  }
  expect(bodies.used).toBeGreaterThanOrEqual(before + 6 * MB);
  for (const answer of waiting) answer();
  await slow;
  await waitFor(() => bodies.used === 0);
  first.destroy();
});
