/** Frames of RFC 6455, section 5.2, as bytes. */

/** The first byte of a message in one frame. */
export const TEXT = 0x81;
const BINARY = 0x82;
/** They come before the payload. */
const MASK_BYTES = 4;

/** Unmasks a payload in place, or masks it again. Returns the bits that are set in any of its bytes. */
export function unmask(chunk: Buffer, start: number, end: number): number {
  const mask = start - MASK_BYTES;
  let bits = 0;
  for (let at = start; at < end; at++) {
    const byte = (chunk[at] as number) ^ (chunk[mask + ((at - start) & 3)] as number);
    chunk[at] = byte;
    bits |= byte;
  }
  return bits;
}

/** The header of an unmasked text frame of fewer than 64 KiB, one character for each byte. */
export function textFrameHeader(length: number): string {
  return length < 126 ? String.fromCharCode(TEXT, length) : String.fromCharCode(TEXT, 126, length >> 8, length & 0xff);
}

/** The header of an unmasked frame of at least 64 KiB. */
export function largeFrameHeader(length: number, isText: boolean): Buffer {
  const header = Buffer.allocUnsafe(10);
  header[0] = isText ? TEXT : BINARY;
  header[1] = 127;
  header.writeBigUInt64BE(BigInt(length), 2);
  return header;
}

/** An unmasked frame of fewer than 64 KiB. */
export function frameOf(message: string | Uint8Array, bytes: number): Buffer {
  const isText = typeof message === "string";
  const start = bytes < 126 ? 2 : 4;
  const frame = Buffer.allocUnsafe(start + bytes);
  frame[0] = isText ? TEXT : BINARY;
  frame[1] = Math.min(bytes, 126);
  if (start === 4) frame.writeUInt16BE(bytes, 2);
  if (isText) frame.write(message, start);
  else frame.set(message, start);
  return frame;
}
