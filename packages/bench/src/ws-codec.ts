/** WebSocket opcodes that a load meets. */
export const OPCODE = { continuation: 0, text: 1, close: 8, ping: 9, pong: 10 } as const;

/** A masked frame as a client sends it, made once and sent many times. */
export function encodeFrame(opcode: number, payload: Buffer): Buffer {
  const length = payload.length;
  const header = length < 126 ? 2 : length < 65_536 ? 4 : 10;
  const frame = Buffer.allocUnsafe(header + 4 + length);
  frame[0] = 0x80 | opcode;
  frame[1] = 0x80 | (length < 126 ? length : length < 65_536 ? 126 : 127);
  if (header === 4) frame.writeUInt16BE(length, 2);
  if (header === 10) frame.writeBigUInt64BE(BigInt(length), 2);
  // Never zero: servers skip the unmasking of a zero key, which no real client sends.
  const mask = [0x5a, 0xc3, 0x17, 0x9e];
  for (let i = 0; i < 4; i++) frame[header + i] = mask[i] as number;
  for (let i = 0; i < length; i++) frame[header + 4 + i] = (payload[i] as number) ^ (mask[i & 3] as number);
  return frame;
}

/**
 * Cuts a byte stream into frames. Payloads are views of what was fed: use them before the next turn, or copy.
 * @throws Error for a fragmented message, which no server of this protocol sends.
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

/** Bytes of the frame at `at`; while its header is incomplete, the bytes needed to tell. */
function frameSize(data: Buffer, at: number): number {
  const available = data.length - at;
  if (available < 2) return 2;
  const header = headerSize(data, at);
  if (available < header) return header;
  if (header === 2) return 2 + ((data[at + 1] as number) & 0x7f);
  return header + (header === 4 ? data.readUInt16BE(at + 2) : Number(data.readBigUInt64BE(at + 2)));
}
