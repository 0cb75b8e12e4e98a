import type { Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { WebSocket } from "ws";
import { defineCounter } from "../../../../test-support/environments/counter.js";
import { startLimited } from "../../../../test-support/servers/limited-server.js";
import { waitFor } from "../../../../test-support/servers/servers.js";
import { openTestSocket } from "../../../../test-support/sockets/socket.js";
import { encodeFrame, OPCODE } from "../../../bench/src/ws-codec.js";

const MB = 1024 * 1024;
const RESET = { type: "reset" };

test("at low memory only the largest unfinished message without progress for 5 s is closed with 1013", async () => {
  const { backlog, url, close } = await startLimited(defineCounter().environment, 8 * MB, {
    maxMessageBytes: 16 * MB,
    // No pings meanwhile: a pong in the unfinished message would be progress.
    pingIntervalMs: 600_000,
  });
  await using bystander = await openTestSocket(`${url}/ws`);
  await bystander.ask(RESET);
  const open = async (bytes: number) => {
    const socket = await openTestSocket(`${url}/ws`);
    const raw = (socket.ws as unknown as { _socket: Socket })._socket;
    raw.write(encodeFrame(OPCODE.text, Buffer.alloc(2 * bytes, 0x20)).subarray(0, bytes));
    return { socket, raw };
  };
  const [largest, smaller] = [await open(3 * MB), await open(2 * MB)];
  await waitFor(() => backlog.used > 4.9 * MB);
  const states = (): number[] => [largest, smaller].map(({ socket }) => socket.ws.readyState);
  // The backlog is full, but no peer has been stalled for long.
  backlog.hold(4 * MB);
  await sleep(500);
  expect(states()).toEqual([WebSocket.OPEN, WebSocket.OPEN]);
  backlog.give(4 * MB);
  // No progress for 5 s, but the backlog is not full.
  await sleep(5_500);
  expect(states()).toEqual([WebSocket.OPEN, WebSocket.OPEN]);
  // Larger than both, but it makes progress.
  const progressing = await open(3.4 * MB);
  const drip = setInterval(() => progressing.raw.write(" "), 200);
  expect(await largest.socket.closed).toMatchObject({ code: 1013, reason: expect.stringContaining("unfinished") });
  expect(backlog.isFull).toBe(false);
  expect(await bystander.ask({ type: "step", data: { amount: 1 } })).toMatchObject({ type: "observation" });
  await sleep(500);
  for (const { socket } of [smaller, progressing]) {
    expect(socket.ws.readyState).toBe(WebSocket.OPEN);
    await socket[Symbol.asyncDispose]();
  }
  clearInterval(drip);
  await waitFor(() => backlog.used === 0);
  close();
}, 60_000);
