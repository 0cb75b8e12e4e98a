import { describe, expect, it } from "vitest";
import { createFrameReader } from "./ws-codec.js";

function serverFrame(text: string): Buffer {
  const payload = Buffer.from(text);
  const header = Buffer.from([0x81, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
  if (payload.length < 126) header[1] = payload.length;
  else header[1] = payload.length < 65_536 ? 126 : 127;
  if (header[1] === 126) header.writeUInt16BE(payload.length, 2);
  if (header[1] === 127) header.writeBigUInt64BE(BigInt(payload.length), 2);
  return Buffer.concat([header.subarray(0, header[1] === 127 ? 10 : header[1] === 126 ? 4 : 2), payload]);
}

describe("the frame reader", () => {
  const texts = [0, 1, 125, 126, 300, 65_535, 65_536, 100_000].map((length) => "x".repeat(length));
  const stream = Buffer.concat(texts.map(serverFrame));

  it.each([1, 3, 127, 4096, stream.length])("finds every frame in pieces of %i bytes", (size) => {
    const seen: string[] = [];
    const read = createFrameReader((opcode, payload) => seen.push(`${opcode}${payload.toString()}`));
    for (let at = 0; at < stream.length; at += size) read(stream.subarray(at, at + size));
    expect(seen).toEqual(texts.map((text) => `1${text}`));
  });

  it("refuses a fragmented message", () => {
    const read = createFrameReader(() => {});
    expect(() => read(Buffer.from([0x01, 1, 0x41]))).toThrow("fragmented");
  });
});
