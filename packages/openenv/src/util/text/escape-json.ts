import { endianness } from "node:os";

/**
 * True when `escapeJson` is faster than `JSON.stringify`: on Node 24 and earlier. V8 13.8 has a faster one.
 * Bun and Deno send text only as a string. The code below requires a little-endian processor.
 */
export const ESCAPES_FASTER =
  !("Bun" in globalThis || "Deno" in globalThis) &&
  Number.parseFloat(process.versions.v8) < 13.8 &&
  endianness() === "LE";

/** The bytes that are escaped at a time, which fit in the cache of a core. */
const CHUNK = 64 * 1024;
/** An escape has at most six bytes, such as \u0000. */
const LONGEST = 6;
const HEX = "0123456789abcdef";

const encoder = new TextEncoder();
const words = new Int32Array(CHUNK / 4);
const source = new Uint8Array(words.buffer);
const target = new Uint8Array(LONGEST * CHUNK);
const targetView = new DataView(target.buffer);
/** The second byte of the escape of each byte, after the backslash; 0 for a byte that is not escaped. */
const ESCAPES = Uint8Array.from({ length: 256 }, (_, byte) => {
  const [backslash, second] = byte < 0x80 ? JSON.stringify(String.fromCharCode(byte)).slice(1, -1) : "";
  return backslash === "\\" ? (second as string).charCodeAt(0) : 0;
});

/**
 * The same bytes as those between the quotes of `JSON.stringify(text)`, in chunks. Checks four bytes at a time, because
 * most text has few characters to escape.
 * @param text must not contain lone surrogates.
 */
export function escapeJson(text: string): Buffer[] {
  const chunks: Buffer[] = [];
  for (let at = 0; at < text.length; ) {
    const { read, written } = encoder.encodeInto(at === 0 ? text : text.slice(at), source);
    at += read;
    // Spaces fill the last word, and are removed again.
    const count = Math.ceil(written / 4);
    source.fill(0x20, written, 4 * count);
    chunks.push(Buffer.from(target.subarray(0, escapeWords(count) - (4 * count - written))));
  }
  return chunks;
}

/** Escapes the first words of the source. Returns the length of the result, bytes. */
function escapeWords(count: number): number {
  // V8 keeps local constants in registers, but reads those of the module in each iteration.
  const from = words;
  const to = target;
  const toView = targetView;
  const escapes = ESCAPES;
  let end = 0;
  for (let at = 0; at < count; at++) {
    let word = from[at] as number;
    if (!mayNeedEscape(word)) {
      toView.setInt32(end, word, true);
      end += 4;
      continue;
    }
    for (let i = 0; i < 4; i++, word >>>= 8) {
      const byte = word & 0xff;
      const second = escapes[byte] as number;
      if (second === 0) to[end++] = byte;
      else end = writeEscape(byte, second, end);
    }
  }
  return end;
}

/** True if a byte is below 0x20, a quote (0x22) or a backslash (0x5c); sometimes also for other words. */
function mayNeedEscape(word: number): boolean {
  // The exclusive or makes a quote 0x20, and swaps other pairs: 0x00 to 0x20 are less than 0x21. The other makes a
  // backslash 0. A subtraction sets the highest bit of each byte that was less.
  const belowOrQuote = (word ^ 0x02020202) - 0x21212121;
  const backslash = (word ^ 0x5c5c5c5c) - 0x01010101;
  return ((belowOrQuote | backslash) & ~word & 0x80808080) !== 0;
}

function writeEscape(byte: number, second: number, at: number): number {
  target[at] = 0x5c;
  target[at + 1] = second;
  if (second !== 0x75) return at + 2;
  target[at + 2] = 0x30;
  target[at + 3] = 0x30;
  target[at + 4] = HEX.charCodeAt(byte >> 4);
  target[at + 5] = HEX.charCodeAt(byte & 0xf);
  return at + LONGEST;
}
