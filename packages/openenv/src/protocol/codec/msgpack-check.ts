import { STRING_ITEMS, TooDeepError, TooManyItemsError } from "./json.js";
import { KeySet, NEW_KEY_ITEMS } from "./key-set.js";

/**
 * Number of bytes after the first, for values of a fixed size; -1 for strings, bytes, arrays, maps and rejected types.
 */
const SIZES = new Int8Array(256).fill(-1);
SIZES.fill(0, 0x00, 0x80).fill(0, 0xe0);
for (const token of [0xc0, 0xc2, 0xc3]) SIZES[token] = 0;
for (const [size, tokens] of Object.entries({
  1: [0xcc, 0xd0],
  2: [0xcd, 0xd1],
  4: [0xca, 0xce, 0xd2],
  8: [0xcb, 0xcf, 0xd3],
})) {
  for (const token of tokens) SIZES[token] = Number(size);
}
const SHORT_KEY = "__proto__".length;

/**
 * Checks that bytes are exactly one MessagePack value of JSON types and byte arrays: no extension types, only string
 * keys, strings in UTF-8, no length beyond the end, at most `maxDepth` levels and `maxItems` values and keys, counted
 * as in `parseJson`, but for NaN and infinities, which are numbers here. A decoder can trust bytes that pass. The memory
 * that the check uses is bounded by the number of bytes.
 * @returns whether the value contains byte arrays.
 * @throws SyntaxError, TooDeepError or TooManyItemsError.
 */
export function checkMessagePack(bytes: Uint8Array, maxDepth: number, maxItems: number): boolean {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const end = bytes.length;
  // A key and its value take at least two bytes, so most frames need no key count.
  const keys = (end / 2) * (2 + NEW_KEY_ITEMS) > maxItems ? new KeySet() : undefined;
  /** The outer containers: twice the number of remaining items, plus one for a map. */
  const outer: number[] = [];
  let left = 1;
  let items = 0;
  let inMap = false;
  let at = 0;
  let hasBytes = false;

  const length = (size: number): number => {
    if (at + size > end) throw truncated();
    const value = size === 1 ? view.getUint8(at) : size === 2 ? view.getUint16(at) : view.getUint32(at);
    at += size;
    return value;
  };
  const skip = (size: number): void => {
    if (size > end - at) throw truncated();
    at += size;
  };
  const text = (size: number): void => {
    const start = at;
    skip(size);
    if (!isUtf8(bytes, start, at)) throw new SyntaxError("a string is not valid UTF-8");
  };
  const string = (size: number): void => {
    text(size);
    items += STRING_ITEMS;
    if (items > maxItems) throw new TooManyItemsError(maxItems);
  };
  const open = (count: number, map: boolean): void => {
    // Every value takes at least one byte, so an impossible count fails at once.
    if (count * (map ? 2 : 1) > end - at) throw truncated();
    if (outer.length >= maxDepth) throw new TooDeepError(`nested deeper than ${maxDepth} levels`);
    outer.push(left * 2 + (inMap ? 1 : 0));
    left = map ? count * 2 : count;
    items += left === 0 ? 1 : left;
    if (items > maxItems) throw new TooManyItemsError(maxItems);
    inMap = map;
  };

  for (;;) {
    while (left === 0) {
      const around = outer.pop();
      if (around === undefined) {
        if (at < end) throw new SyntaxError(`${end - at} bytes follow the value`);
        return hasBytes;
      }
      left = around >> 1;
      inMap = (around & 1) === 1;
    }
    if (at >= end) throw truncated();
    const isKey = inMap && (left & 1) === 0;
    left--;
    const token = bytes[at++] as number;
    if (isKey) {
      const size = token >= 0xa0 && token < 0xc0 ? token - 0xa0 : keyLength(token, length);
      text(size);
      if (keys !== undefined) {
        items += keys.countBytes(bytes, at - size, at);
        if (items > maxItems) throw new TooManyItemsError(maxItems);
      }
      if (size === SHORT_KEY && isProto(bytes, at - size)) throw new SyntaxError('"__proto__" is not allowed as a key');
      continue;
    }
    const size = SIZES[token] as number;
    if (size >= 0) skip(size);
    else if (token < 0x90) open(token & 0x0f, true);
    else if (token < 0xa0) open(token & 0x0f, false);
    else if (token < 0xc0) string(token & 0x1f);
    else if (token >= 0xd9 && token <= 0xdb) string(length(1 << (token - 0xd9)));
    else if (token === 0xdc || token === 0xdd) open(length(token === 0xdc ? 2 : 4), false);
    else if (token === 0xde || token === 0xdf) open(length(token === 0xde ? 2 : 4), true);
    else if (token >= 0xc4 && token <= 0xc6) {
      hasBytes = true;
      skip(length(1 << (token - 0xc4)));
    } else throw new SyntaxError(`0x${token.toString(16)} is not a supported type (extension types are not allowed)`);
  }
}

function keyLength(token: number, length: (size: number) => number): number {
  if (token < 0xd9 || token > 0xdb) throw new SyntaxError("a key is not a string");
  return length(1 << (token - 0xd9));
}

/** Compares bytes, which is faster than decoding: few keys have this length and prefix. */
function isProto(bytes: Uint8Array, start: number): boolean {
  for (let i = 0; i < SHORT_KEY; i++) if (bytes[start + i] !== "__proto__".charCodeAt(i)) return false;
  return true;
}

/** For longer strings, the native check is faster than a loop. */
const LONG = 48;
const strict = new TextDecoder("utf-8", { fatal: true });
const native = (
  globalThis as { process?: { getBuiltinModule?(id: string): { isUtf8?(bytes: Uint8Array): boolean } } }
).process?.getBuiltinModule?.("node:buffer").isUtf8;

function isUtf8(bytes: Uint8Array, start: number, end: number): boolean {
  if (end - start < LONG) {
    let at = start;
    while (at < end && (bytes[at] as number) < 0x80) at++;
    if (at === end) return true;
  }
  const part = bytes.subarray(start, end);
  if (native) return native(part);
  try {
    strict.decode(part);
    return true;
  } catch {
    return false;
  }
}

function truncated(): SyntaxError {
  return new SyntaxError("unexpected end of data");
}
