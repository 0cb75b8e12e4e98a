/** WebSocket opcodes of a load. */
export const OPCODE = { continuation: 0, text: 1, close: 8, ping: 9, pong: 10 } as const;

/** A masked client frame, encoded once and sent many times. */
export function encodeFrame(opcode: number, payload: Buffer): Buffer {
  const length = payload.length;
  const header = length < 126 ? 2 : length < 65_536 ? 4 : 10;
  const frame = Buffer.allocUnsafe(header + 4 + length);
  frame[0] = 0x80 | opcode;
  frame[1] = 0x80 | (length < 126 ? length : length < 65_536 ? 126 : 127);
  if (header === 4) frame.writeUInt16BE(length, 2);
  if (header === 10) frame.writeBigUInt64BE(BigInt(length), 2);
  // The key is not zero: servers skip unmasking for a zero key, which real clients do not use.
  const mask = [0x5a, 0xc3, 0x17, 0x9e];
  for (let i = 0; i < 4; i++) frame[header + i] = mask[i] as number;
  for (let i = 0; i < length; i++) frame[header + 4 + i] = (payload[i] as number) ^ (mask[i & 3] as number);
  return frame;
}

/**
 * Splits a byte stream into frames. Payloads are views of the input: use them before the next turn of the event loop,
 * or copy them.
 * @throws Error for a fragmented message, which servers of this protocol do not send.
 */
export function createFrameReader(onFrame: (opcode: number, payload: Buffer) => void): (chunk: Buffer) => void {
  let waiting: Buffer[] = [];
  let have = 0;
  let need = 0;
  return (chunk) => {
    let data = chunk;
    if (have > 0) {
      waiting.push(chunk);
      have += chunk.length;
      if (have < need) return;
      data = Buffer.concat(waiting, have);
      waiting = [];
      have = 0;
    }
    let at = 0;
    for (;;) {
      need = frameSize(data, at);
      if (data.length - at < need) break;
      const first = data[at] as number;
      if (first < 0x80) throw new Error("the server sent a fragmented message");
      onFrame(first & 0x0f, data.subarray(at + headerSize(data, at), at + need));
      at += need;
    }
    if (at === data.length) return;
    waiting = [data.subarray(at)];
    have = data.length - at;
  };
}

function headerSize(data: Buffer, at: number): number {
  const length = (data[at + 1] as number) & 0x7f;
  return length < 126 ? 2 : length === 126 ? 4 : 10;
}

/** The length of the frame at `at`; for an incomplete header, the bytes needed to compute it. */
function frameSize(data: Buffer, at: number): number {
  const available = data.length - at;
  if (available < 2) return 2;
  const header = headerSize(data, at);
  if (available < header) return header;
  if (header === 2) return 2 + ((data[at + 1] as number) & 0x7f);
  return header + (header === 4 ? data.readUInt16BE(at + 2) : Number(data.readBigUInt64BE(at + 2)));
}
