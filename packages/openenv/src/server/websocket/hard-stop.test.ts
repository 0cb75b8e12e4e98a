import { once } from "node:events";
import { afterEach, expect, test } from "vitest";
import * as z from "zod";
import { defineCounter } from "../../../../../test-support/environments/counter.js";
import { type LimitedServer, startLimited } from "../../../../../test-support/servers/limited-server.js";
import { waitFor } from "../../../../../test-support/servers/servers.js";
import { pipelineRequests, renderRequest } from "../../../../../test-support/sockets/pipelined-requests.js";
import { openRawPeer } from "../../../../../test-support/sockets/raw-peer.js";
import { openTestSocket } from "../../../../../test-support/sockets/socket.js";
import { defineContract, defineEnvironment } from "../../index.js";
import type { ServerContext } from "../context.js";

const MB = 1024 * 1024;
const KB = 1024;
const RESET = { type: "reset" };
const step = (amount: number) => ({ type: "step", data: { amount } });
/** A frame that is padded to 4 kB with spaces. */
const padded = (amount: number): string => JSON.stringify(step(amount)).padEnd(4 * KB);

let server: LimitedServer | undefined;
afterEach(() => server?.close());

async function start(environment: unknown, limit: number, own: Partial<ServerContext> = {}) {
  server = await startLimited(environment, limit, own);
  return server;
}

test("at the hard stop the largest holder is closed with 1013, and the peer that reached it is answered", async () => {
  const { backlog, url } = await start(defineCounter().environment, MB);
  await using holder = await openTestSocket(`${url}/ws`);
  await using smaller = await openTestSocket(`${url}/ws`);
  await using newcomer = await openTestSocket(`${url}/ws`);
  for (const socket of [holder, smaller, newcomer]) await socket.ask(RESET);
  holder.send(step(60), ...Array<string>(200).fill(padded(1)));
  smaller.send(step(60), ...Array<string>(20).fill(padded(1)));
  await waitFor(() => backlog.used > 220 * 4 * KB);
  expect(holder.ws.readyState).toBe(holder.ws.OPEN);
  // Other holders leave less than a frame up to the hard stop.
  backlog.hold(1.25 * MB - 1 - backlog.used);
  newcomer.send(step(50), step(2));
  expect(await holder.closed).toMatchObject({ code: 1013, reason: expect.stringContaining("held the most") });
  expect(await newcomer.receive()).toMatchObject({ data: { observation: { count: 50 } } });
  expect(await newcomer.receive()).toMatchObject({ data: { observation: { count: 52 } } });
  expect(smaller.ws.readyState).toBe(smaller.ws.OPEN);
});

test("an unread HTTP answer is charged, and at the hard stop its connection is closed", async () => {
  const contract = defineContract({
    name: "text_env",
    action: z.object({}),
    observation: z.object({ text: z.string() }),
  });
  const environment = defineEnvironment(contract, () => ({
    reset: () => ({ observation: { text: "x".repeat(16 * MB) } }),
    step: () => ({ observation: { text: "" } }),
  }));
  const limit = 24 * MB;
  const { backlog, url } = await start(environment, limit);
  const ask = () => pipelineRequests(Number(new URL(url).port), renderRequest("/reset", {}));
  const first = ask();
  await waitFor(() => backlog.used > 8 * MB);
  let read = 0;
  first.on("data", (chunk: Buffer) => (read += chunk.length));
  await waitFor(() => read > 16 * MB && backlog.used === 0);
  const others = [ask(), ask(), ask(), ask()];
  await Promise.all(others.map((socket) => once(socket, "readable")));
  // The system buffers less than 6 MB of each.
  expect(backlog.used).toBeLessThan(1.25 * limit);
  expect(backlog.used).toBeGreaterThan(8 * MB);
  let closed = 0;
  for (const socket of others) socket.on("close", () => closed++).resume();
  await waitFor(() => closed > 0 && backlog.used === 0);
  expect(closed).toBeLessThan(others.length);
  for (const socket of [first, ...others]) socket.destroy();
}, 30_000);

test("many pages that do not read their updates stay within the backlog, and sessions continue", async () => {
  const contract = defineContract({
    name: "text_env",
    action: z.object({}),
    observation: z.object({ text: z.string() }),
  });
  const environment = defineEnvironment(contract, () => ({
    reset: () => ({ observation: { text: "x".repeat(MB) } }),
    step: () => ({ observation: { text: "done" } }),
  }));
  const limit = 8 * MB;
  const web = { readme: null, report: null, spaceId: null };
  const { backlog, url } = await start(environment, limit, { web });
  await using bystander = await openTestSocket(`${url}/ws`);
  await bystander.ask(RESET);
  const reset = async (cookie = ""): Promise<string> => {
    const headers = { "content-type": "application/json", ...(cookie !== "" && { cookie }) };
    const response = await fetch(`${url}/web/reset`, { method: "POST", headers, body: "{}" });
    await response.arrayBuffer();
    return response.headers.get("set-cookie")?.split(";")[0] ?? cookie;
  };
  const cookies = [await reset(), await reset()];
  const pages = [];
  for (const cookie of cookies) {
    for (let i = 0; i < 16; i++) pages.push(await openRawPeer(url, "/ws/ui", `Cookie: ${cookie}\r\n`));
  }
  const closed = pages.map(({ socket }) => once(socket, "close"));
  let most = 0;
  for (let round = 0; round < 40; round++) {
    for (const cookie of cookies) await reset(cookie);
    most = Math.max(most, backlog.used);
  }
  // Each may have 4 MB of unread answers: 128 MB.
  expect(most).toBeGreaterThan(limit / 2);
  expect(most).toBeLessThan(1.25 * limit + 2 * MB);
  expect(await bystander.ask({ type: "step", data: {} })).toMatchObject({ data: { observation: { text: "done" } } });
  for (const { socket } of pages) socket.resume();
  await Promise.all(closed);
  await waitFor(() => backlog.used === 0);
}, 60_000);
