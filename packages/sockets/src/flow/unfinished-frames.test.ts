import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, expect, test } from "vitest";
import { defineCounter } from "../../../../test-support/environments/counter.js";
import { startLimited } from "../../../../test-support/servers/limited-server.js";
import { waitFor } from "../../../../test-support/servers/servers.js";
import { flood } from "../../../../test-support/sockets/attacks.js";
import { openRawPeer } from "../../../../test-support/sockets/raw-peer.js";
import { encodeFrame, OPCODE } from "../../../bench/src/ws-codec.js";
import { FRAME_BYTES } from "./inbound-queue.js";

const MB = 1024 * 1024;
/** The maximum size of one read of a socket. */
const READ_BYTES = 64 * 1024;
const RESET = { type: "reset" };
const ENDLESS_STEP = { type: "step", data: { amount: 60 } };

const cleanup: (() => void)[] = [];
afterEach(() => {
  for (const end of cleanup.splice(0)) end();
});

async function start(limit: number, own: { pingIntervalMs?: number } = {}) {
  const server = await startLimited(defineCounter().environment, limit, { maxMessageBytes: 16 * MB, ...own });
  cleanup.push(server.close);
  return server;
}

/** A fragment that starts or continues a message. */
function fragment(opcode: number, content: Buffer): Buffer {
  const frame = encodeFrame(opcode, content);
  frame[0] = opcode;
  return frame;
}

test.each([
  ["empty", Buffer.alloc(0)],
  ["one-byte", Buffer.from("1")],
])(
  "waiting %s frames are charged, and at most 1,024 and those of one read wait",
  async (_, payload) => {
    // The server notices the end of a peer that it does not read by its pings.
    const { backlog, url } = await start(64 * MB, { pingIntervalMs: 1_000 });
    const count = 400_000;
    await using attack = await flood(url, { count, payload, before: [RESET, ENDLESS_STEP] });
    await waitFor(() => backlog.used >= 1024 * FRAME_BYTES);
    await sleep(500);
    // `ws` parses the read with the 1,024th frame to its end; later data stays in the socket.
    const perRead = Math.ceil(READ_BYTES / (6 + payload.length));
    expect(backlog.used).toBeLessThan((1024 + perRead) * (FRAME_BYTES + payload.length) + 3 * READ_BYTES);
    attack.peer.socket.destroy();
    await waitFor(() => backlog.used === 0);
  },
  30_000,
);

test("at most 1,024 frames of a peer wait when they arrive in small reads", async () => {
  const { backlog, url } = await start(64 * MB);
  const peer = await openRawPeer(url);
  peer.send(RESET, ENDLESS_STEP);
  const block = Buffer.concat(Array<Buffer>(64).fill(encodeFrame(OPCODE.text, Buffer.from("1"))));
  const charge = FRAME_BYTES + 1;
  for (let sent = 64; sent <= 1024; sent += 64) {
    peer.socket.write(block);
    await waitFor(() => backlog.used === sent * charge);
  }
  for (let i = 0; i < 500; i++) peer.socket.write(block);
  await waitFor(() => backlog.used > 1024 * charge);
  await sleep(600);
  // Later data is not read: the socket holds a read or two.
  expect(backlog.used).toBeLessThan(1024 * charge + 3 * READ_BYTES);
  peer.socket.destroy();
}, 30_000);

test("an unfinished message is charged until it is complete, and a fragmented one leaves nothing charged", async () => {
  const { backlog, url } = await start(64 * MB);
  const peer = await openRawPeer(url);
  peer.send(RESET);
  const frame = encodeFrame(OPCODE.text, Buffer.alloc(3 * MB, 0x20));
  peer.socket.write(frame.subarray(0, -1));
  await waitFor(() => backlog.used > 2.9 * MB);
  expect(backlog.used).toBeLessThan(3.1 * MB);
  peer.socket.write(frame.subarray(-1));
  await waitFor(() => backlog.used === 0);

  // `ws` does not report the headers of fragments: the kept bytes are charged, and nothing once the message has ended.
  const parts = [fragment(OPCODE.text, Buffer.from(" "))];
  for (let i = 0; i < 15_000; i++) parts.push(fragment(OPCODE.continuation, Buffer.from(" ")));
  peer.socket.write(Buffer.concat(parts));
  await waitFor(() => backlog.used > 15_000 * 150);
  expect(backlog.used).toBeLessThan(15_001 * 200 + 20_000);
  const end = encodeFrame(OPCODE.continuation, Buffer.from("1"));
  peer.socket.write(end);
  await waitFor(() => backlog.used === 0);
  // Also for a message that starts and ends between two sweeps.
  peer.socket.write(Buffer.concat([...parts, end]));
  const answers: Buffer[] = [];
  peer.socket.on("data", (chunk: Buffer) => answers.push(chunk)).resume();
  peer.send({ type: "state" });
  // Answers arrive in order: the server has read everything before it.
  await waitFor(() => String(Buffer.concat(answers)).includes('"type":"state"'));
  await waitFor(() => backlog.used === 0);
  expect(peer.socket.destroyed).toBe(false);
  peer.socket.destroy();
}, 30_000);

test("a message that arrives in many small pieces is charged for each of them", async () => {
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

test("a large message that makes progress is finished even if memory is low", async () => {
  const { backlog, url } = await start(16 * MB);
  backlog.hold(15 * MB);
  const peer = await openRawPeer(url);
  const answers: Buffer[] = [];
  peer.socket.on("data", (chunk: Buffer) => answers.push(chunk)).resume();
  peer.send(RESET);
  const frame = encodeFrame(OPCODE.text, Buffer.alloc(4 * MB, 0x20));
  for (let at = 0; at < frame.length; at += MB) {
    peer.socket.write(frame.subarray(at, at + MB));
    await sleep(300);
  }
  await waitFor(() => String(Buffer.concat(answers)).includes("INVALID_JSON"));
  await waitFor(() => backlog.used === 15 * MB);
  peer.socket.destroy();
}, 30_000);
