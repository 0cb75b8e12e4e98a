import { STRING_ITEMS, TooDeepError, TooManyItemsError } from "./json.js";
import { KeySet, NEW_KEY_ITEMS } from "./key-set.js";

const OTHER = -1;
const STRING = -2;
const BYTES = -3;
const ARRAY = -4;
const MAP = -5;
/** The table has for each first byte how many bytes follow a value of a fixed size, or what kind of value begins. */
const KINDS = new Int8Array(256).fill(OTHER);
KINDS.fill(0, 0x00, 0x80).fill(MAP, 0x80, 0x90).fill(ARRAY, 0x90, 0xa0).fill(STRING, 0xa0, 0xc0).fill(0, 0xe0);
// The bytes 0xc0 to 0xdf are nil, one that is never used, false, true, three byte arrays, three extensions, floats, integers, and others.
KINDS.set([0, OTHER, 0, 0, BYTES, BYTES, BYTES, OTHER, OTHER, OTHER, 4, 8, 1, 2, 4, 8], 0xc0);
KINDS.set([1, 2, 4, 8, OTHER, OTHER, OTHER, OTHER, OTHER, STRING, STRING, STRING, ARRAY, ARRAY, MAP, MAP], 0xd0);
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

  /** The length of a string, a byte array or a container: in its first byte, or in the bytes after it. */
  const length = (token: number): number => {
    if (token < 0xc0) return token & (token < 0xa0 ? 0x0f : 0x1f);
    const size = token < 0xd9 ? 1 << (token - 0xc4) : token < 0xdc ? 1 << (token - 0xd9) : 2 << (token & 1);
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
    skip(size);
    if (!isUtf8(bytes, at - size, at)) throw new SyntaxError("a string is not valid UTF-8");
  };
  const add = (more: number): void => {
    items += more;
    if (items > maxItems) throw new TooManyItemsError(maxItems);
  };
  const open = (count: number, map: boolean): void => {
    // Every value takes at least one byte, so an impossible count fails at once.
    if (count * (map ? 2 : 1) > end - at) throw truncated();
    if (outer.length >= maxDepth) throw new TooDeepError(`nested deeper than ${maxDepth} levels`);
    outer.push(left * 2 + (inMap ? 1 : 0));
    left = map ? count * 2 : count;
    add(left === 0 ? 1 : left);
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
    const kind = KINDS[token] as number;
    if (isKey) {
      if (kind !== STRING) throw new SyntaxError("a key is not a string");
      const size = length(token);
      text(size);
      if (keys !== undefined) add(keys.countBytes(bytes, at - size, at));
      if (size === SHORT_KEY && isProto(bytes, at - size)) throw new SyntaxError('"__proto__" is not allowed as a key');
    } else if (kind >= 0) skip(kind);
    else if (kind === STRING) {
      text(length(token));
      add(STRING_ITEMS);
    } else if (kind === ARRAY || kind === MAP) open(length(token), kind === MAP);
    else if (kind === BYTES) {
      hasBytes = true;
      skip(length(token));
    } else throw new SyntaxError(`0x${token.toString(16)} is not a supported type (extension types are not allowed)`);
  }
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
