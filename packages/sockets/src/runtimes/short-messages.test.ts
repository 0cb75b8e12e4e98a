/** Most messages are short, and each is alone in what is read: they are read and written without `ws`. */
import { once } from "node:events";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { startLimited } from "../../../../test-support/servers/limited-server.js";
import { openBinarySocket } from "../../../../test-support/sockets/binary-socket.js";
import { openRawPeer } from "../../../../test-support/sockets/raw-peer.js";
import { openTestSocket } from "../../../../test-support/sockets/socket.js";
import { encodeFrame, OPCODE } from "../../../bench/src/ws-codec.js";
import { bytes, defineContract, defineEnvironment } from "../../../openenv/src/index.js";

// Headers change at 126 and 65,536 bytes, the high byte of a length at 256; answers from 4 and from 16 KiB on are written
// in other ways.
const around = (size: number): number[] => Array.from({ length: 300 }, (_, n) => size - 250 + n);
const SIZES = [...Array(300).keys(), ...around(4_096), ...around(16_384), 65_300, 65_600];

const contract = defineContract({
  name: "sized_env",
  action: z.object({ text: z.string().default(""), size: z.int().default(0) }),
  observation: z.object({ text: z.string(), blob: bytes() }),
});
const environment = defineEnvironment(contract, () => ({
  reset: () => ({ observation: { text: "", blob: new Uint8Array() } }),
  step: ({ text, size }) => ({ observation: { text, blob: new Uint8Array(size).fill(size) } }),
}));

async function start() {
  const server = await startLimited(environment, 64 * 1024 * 1024);
  return { url: server.url, [Symbol.dispose]: () => server.close() };
}

interface Answer {
  data: { observation: { text: string; blob: Uint8Array } };
}

describe("answers of every size arrive complete and in order", () => {
  test("as text", async () => {
    using server = await start();
    const socket = await openTestSocket(`${server.url}/ws`);
    await socket.ask({ type: "reset" });
    const texts = SIZES.flatMap((size) => ["x".repeat(size), `${"x".repeat(size)}é`, `${"x".repeat(size)}水😀`]);
    const answers = await Promise.all(texts.map((text) => socket.ask({ type: "step", data: { text } })));
    expect(answers.map((answer) => (answer as unknown as Answer).data.observation.text)).toEqual(texts);
    socket.ws.close();
  }, 60_000);

  test("as MessagePack", async () => {
    using server = await start();
    await using socket = await openBinarySocket(`${server.url}/ws?openenv=binary`);
    await socket.ask('{"type":"reset"}');
    const answers = await Promise.all(SIZES.map((size) => socket.askPacked({ type: "step", data: { size } })));
    const blobs = answers.map((answer) => (answer as unknown as Answer).data.observation.blob);
    expect(blobs.map((blob) => blob.length)).toEqual(SIZES);
    expect(blobs.every((blob) => blob.every((byte) => byte === blob.length % 256))).toBe(true);
  }, 60_000);
});

const step = (text: string): Buffer => Buffer.from(JSON.stringify({ type: "step", data: { text } }));
const frame = (payload: Buffer): Buffer => encodeFrame(OPCODE.text, payload);
const RESET = frame(Buffer.from('{"type":"reset"}'));

/** Sends each chunk after the answer to the one before, and returns all that came back. */
async function exchange(url: string, chunks: readonly Buffer[]): Promise<Buffer> {
  const { socket } = await openRawPeer(url);
  const read: Buffer[] = [];
  socket.resume();
  for (const chunk of [RESET, ...chunks]) {
    const more = once(socket, "data");
    socket.write(chunk);
    const [data] = (await more) as [Buffer];
    read.push(data);
  }
  socket.destroy();
  return Buffer.concat(read);
}

describe("a frame that is alone in a read", () => {
  test.each([
    ["ASCII", "plain"],
    ["other text", "é水😀"],
    ["more than 125 bytes", "x".repeat(200)],
  ])("is answered: %s", async (_, text) => {
    using server = await start();
    const all = await exchange(server.url, [frame(step(text)), frame(step("again"))]);
    expect(all.toString()).toContain(JSON.stringify(text));
    expect(all.toString()).toContain('"again"');
  });

  const changed = (change: (bytes: Buffer) => void): Buffer => {
    const bytes = frame(step("a"));
    change(bytes);
    return bytes;
  };
  const invalid = Buffer.from(step("a").map((byte) => (byte === "a".charCodeAt(0) ? 0xff : byte)));
  const unmasked = Buffer.concat([Buffer.of(0x81, step("a").length), step("a")]);
  test.each([
    ["is not UTF-8", [frame(invalid)], 1007],
    ["has no mask", [unmasked], 1002],
    ["has a reserved bit", [changed((bytes) => bytes.writeUInt8(0xc1))], 1002],
    ["continues nothing", [changed((bytes) => bytes.writeUInt8(0x80))], 1002],
    ["has an unknown opcode", [changed((bytes) => bytes.writeUInt8(0x83))], 1002],
  ])("closes the socket as `ws` does when it %s", async (_, chunks, code) => {
    using server = await start();
    const all = await exchange(server.url, chunks);
    expect(all.subarray(-4)).toEqual(Buffer.of(0x88, 2, code >> 8, code & 0xff));
  });

  test.each([
    ["a frame that is not UTF-8", frame(invalid), 1007],
    ["a frame with a reserved bit", changed((bytes) => bytes.writeUInt8(0xc1)), 1002],
    ["the close frame", encodeFrame(OPCODE.close, Buffer.of(0x03, 0xe8)), 1000],
  ])("is answered when %s came in the same read", async (_, next, code) => {
    using server = await start();
    const { socket } = await openRawPeer(server.url);
    let all = Buffer.alloc(0);
    socket.resume().on("data", (data: Buffer) => (all = Buffer.concat([all, data])));
    socket.write(Buffer.concat([RESET, frame(step("one")), frame(step("é")), next]));
    await expect.poll(() => all.subarray(-4)).toEqual(Buffer.of(0x88, 2, code >> 8, code & 0xff));
    expect(all.toString().match(/"text":"[^"]*"/g)).toEqual(['"text":""', '"text":"one"', '"text":"é"']);
    socket.destroy();
  });

  test("closes the socket inside a fragmented message", async () => {
    using server = await start();
    const { socket } = await openRawPeer(server.url);
    socket.resume();
    const first = once(socket, "data");
    socket.write(RESET);
    await first;
    socket.write(changed((bytes) => bytes.writeUInt8(0x01)));
    const [data] = (await Promise.all([once(socket, "data"), socket.write(frame(step("b")))]))[0] as [Buffer];
    expect(data).toEqual(Buffer.of(0x88, 2, 1002 >> 8, 1002 & 0xff));
    socket.destroy();
  });

  test("is answered in order with frames that arrive in parts or together", async () => {
    using server = await start();
    const { socket } = await openRawPeer(server.url);
    socket.setNoDelay(true).resume();
    let text = "";
    socket.on("data", (data: Buffer) => (text += data.toString("latin1")));
    const words = Array.from({ length: 300 }, (_, n) => `word ${n}.`);
    socket.write(RESET);
    for (const [nth, word] of words.entries()) {
      const bytes = frame(step(word));
      const cut = nth % 4 === 0 ? 0 : (nth * 7) % bytes.length;
      if (cut > 0) socket.write(bytes.subarray(0, cut));
      if (nth % 3 === 0) await new Promise(setImmediate);
      socket.write(bytes.subarray(cut));
      if (nth % 5 === 0) await new Promise(setImmediate);
    }
    await expect.poll(() => text.includes(words.at(-1) as string)).toBe(true);
    expect(text.match(/word \d+\./g)).toEqual(words);
    socket.destroy();
  });
});
