import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, expect, test } from "vitest";
import { flood, sendUnfinished } from "../../../test-support/attacks.js";
import { createContext } from "../../../test-support/context.js";
import { defineCounter } from "../../../test-support/counter.js";
import { openRawPeer } from "../../../test-support/raw-peer.js";
import { waitFor } from "../../../test-support/servers.js";
import { openTestSocket } from "../../../test-support/socket.js";
import { encodeFrame, OPCODE } from "../../bench/frames.js";
import type { EnvironmentDefinition } from "../../env/environment.js";
import { ByteBudget } from "../byte-budget.js";
import { createRuntime } from "../runtime.js";
import { FRAME_BYTES } from "./frame-queue.js";
import { createSocketServer } from "./socket-server.js";

const MB = 1024 * 1024;
const RESET = { type: "reset" };
const ENDLESS_STEP = { type: "step", data: { amount: 60 } };

const cleanup: (() => void)[] = [];
afterEach(() => {
  for (const end of cleanup.splice(0)) end();
});

async function start(limit: number, own: { pingIntervalMs?: number } = {}) {
  const backlog = new ByteBudget(limit);
  const context = createContext(createRuntime(defineCounter().environment as unknown as EnvironmentDefinition), {
    backlog,
    maxMessageBytes: 16 * MB,
    ...own,
  });
  const sockets = createSocketServer(context);
  const server = createServer().on("upgrade", sockets.upgrade).listen(0, "127.0.0.1");
  await once(server, "listening");
  cleanup.push(() => {
    sockets.close();
    server.close();
  });
  return { backlog, context, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

/** A fragment of a message that begins with it, or continues it. */
function fragment(opcode: number, content: Buffer): Buffer {
  const frame = encodeFrame(opcode, content);
  frame[0] = opcode;
  return frame;
}

test.each([
  ["empty", Buffer.alloc(0)],
  ["one-byte", Buffer.from("1")],
])(
  "%s frames that wait are charged, and no more than 1,024 and two reads of them wait",
  async (_, payload) => {
    // The end of a peer that is not read shows when it is pinged.
    const { backlog, url } = await start(64 * MB, { pingIntervalMs: 1_000 });
    const count = 400_000;
    await using attack = await flood(url, { count, payload, before: [RESET, ENDLESS_STEP] });
    await waitFor(() => backlog.used >= 1024 * FRAME_BYTES);
    await sleep(500);
    const perRead = Math.ceil((64 * 1024) / (6 + payload.length));
    expect(backlog.used).toBeLessThan((1024 + 2 * perRead) * (FRAME_BYTES + 1) + 128 * 1024);
    attack.peer.socket.destroy();
    await waitFor(() => backlog.used === 0);
  },
  30_000,
);

test("a message that is not complete is charged until it is, and a fragmented one leaves nothing charged", async () => {
  const { backlog, url } = await start(64 * MB);
  const peer = await openRawPeer(url);
  peer.send(RESET);
  const frame = encodeFrame(OPCODE.text, Buffer.alloc(3 * MB, 0x20));
  peer.socket.write(frame.subarray(0, -1));
  await waitFor(() => backlog.used > 2.9 * MB);
  expect(backlog.used).toBeLessThan(3.1 * MB);
  peer.socket.write(frame.subarray(-1));
  await waitFor(() => backlog.used === 0);

  // The headers of 15,000 fragments are not reported by anything: 90 kB that only the next look can correct.
  const parts = [fragment(OPCODE.text, Buffer.from(" "))];
  for (let i = 0; i < 15_000; i++) parts.push(fragment(OPCODE.continuation, Buffer.from(" ")));
  peer.socket.write(Buffer.concat(parts));
  await waitFor(() => backlog.used > 100_000);
  peer.socket.write(encodeFrame(OPCODE.continuation, Buffer.from("1")));
  await sleep(600);
  for (let i = 0; i < 8; i++) {
    peer.send({ type: "state" });
    await sleep(300);
  }
  expect(backlog.used).toBeLessThan(200_000);
  peer.socket.destroy();
  await waitFor(() => backlog.used === 0);
}, 30_000);

test("a message that comes in many small pieces is charged for each of them", async () => {
  const { backlog, url } = await start(64 * MB);
  const peer = await openRawPeer(url);
  peer.socket.setNoDelay();
  peer.send(RESET);
  const frame = encodeFrame(OPCODE.text, Buffer.alloc(MB, 0x20));
  peer.socket.write(frame.subarray(0, 100));
  await waitFor(() => backlog.used > 0);
  for (let i = 0; i < 500; i++) {
    peer.socket.write(frame.subarray(100 + i, 101 + i));
    await new Promise((resolve) => setImmediate(resolve));
  }
  await waitFor(() => backlog.used > 50_000);
  peer.socket.write(frame.subarray(600));
  await waitFor(() => backlog.used === 0);
  peer.socket.destroy();
}, 30_000);

test("when memory is short, unfinished messages without progress are closed with 1013, and others live on", async () => {
  const { backlog, context, url } = await start(8 * MB);
  await using bystander = await openTestSocket(`${url}/ws`);
  await bystander.ask(RESET);
  // A small one without progress, which the large ones leave room for.
  await using small = await openTestSocket(`${url}/ws`);
  await small.ask(RESET);
  (small.ws as unknown as { _socket: { write(data: Buffer): void } })._socket.write(
    encodeFrame(OPCODE.text, Buffer.alloc(1000, 0x20)).subarray(0, 500),
  );
  await using attack = await sendUnfinished(url, { peers: 6, bytes: 5 * MB });
  const seen: Buffer[] = [];
  for (const { socket } of attack.peers) socket.on("data", (chunk: Buffer) => seen.push(chunk)).resume();
  await waitFor(() => backlog.isFull);
  await waitFor(() => !backlog.isFull);
  await waitFor(() => attack.peers.some(({ socket }) => socket.destroyed));
  const closeFrame = Buffer.from([0x88]);
  expect(seen.some((chunk) => chunk.includes(closeFrame) && chunk.includes(Buffer.from([0x03, 0xf5])))).toBe(true);
  expect(await bystander.ask({ type: "step", data: { amount: 1 } })).toMatchObject({ type: "observation" });
  expect(small.ws.readyState).toBe(small.ws.OPEN);
  expect(context.sessions.load().active).toBeGreaterThanOrEqual(2);
}, 60_000);

test("a large message that makes progress is finished although memory is short", async () => {
  const { backlog, url } = await start(2 * MB);
  const peer = await openRawPeer(url);
  const answers: Buffer[] = [];
  peer.socket.on("data", (chunk: Buffer) => answers.push(chunk)).resume();
  peer.send(RESET);
  const frame = encodeFrame(OPCODE.text, Buffer.alloc(6 * MB, 0x20));
  for (let at = 0; at < frame.length; at += MB) {
    peer.socket.write(frame.subarray(at, at + MB));
    await sleep(300);
  }
  await waitFor(() => String(Buffer.concat(answers)).includes("INVALID_JSON"));
  await waitFor(() => !backlog.isFull);
  peer.socket.destroy();
}, 30_000);
