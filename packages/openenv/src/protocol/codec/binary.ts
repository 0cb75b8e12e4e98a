import { isWellFormed } from "../../util/text/is-well-formed.js";
import { LoneSurrogateError, MAX_INPUT_DEPTH, TooDeepError } from "./json.js";
import { checkMessagePack } from "./msgpack-check.js";

/** Frames as MessagePack: JSON values, and byte arrays without base64. */
export interface BinaryCodec {
  /**
   * Encodes what `JSON.stringify` would write (`toJSON`, omitted members, null for NaN), and byte arrays as binary.
   * @throws LoneSurrogateError, TypeError for a bigint, TooDeepError (also for a cycle).
   */
  encode(value: unknown): Uint8Array;
  /**
   * 64-bit integers become the nearest number, as with JSON. Byte arrays are views of `bytes`.
   * @param maxItems as in `parseJson`.
   * @throws SyntaxError when it is not MessagePack or holds values without a JSON form; TooDeepError;
   * TooManyItemsError.
   */
  decode(bytes: Uint8Array, maxItems?: number): Decoded;
}

export interface Decoded {
  value: unknown;
  hasBytes: boolean;
}

let loading: Promise<BinaryCodec> | undefined;
let loaded: BinaryCodec | undefined;

/** Loads the codec and its library once, for the first connection that negotiates binary frames. */
export function loadBinary(): Promise<BinaryCodec> {
  return (loading ??= createCodec().then((codec) => (loaded = codec)));
}

/** The codec, once it has been loaded; a journal loads it at the start. */
export function loadedBinary(): BinaryCodec | undefined {
  return loaded;
}

/** The library reuses one buffer, which grows with the largest frame. A buffer above this size is replaced. */
const MAX_SCRATCH_BYTES = 16 * 1024 * 1024;
const FRESH_BYTES = 8 * 1024;

async function createCodec(): Promise<BinaryCodec> {
  // This entry has no native code, so that only JavaScript parses untrusted bytes.
  const { Packr, RESET_BUFFER_MODE } = await import("msgpackr/pack");
  const packr = new Packr({ useRecords: false, variableMapSize: true, useToJSON: false, int64AsType: "number" });
  return {
    encode: (value) => {
      const packed = packr.pack(toPlain(value, 0) ?? null, RESET_BUFFER_MODE);
      const own = native ? native.from(packed) : packed.slice();
      if (packed.buffer.byteLength > MAX_SCRATCH_BYTES) packr.useBuffer(freshBuffer());
      return own;
    },
    decode: (bytes, maxItems = Number.POSITIVE_INFINITY) => {
      const hasBytes = checkMessagePack(bytes, MAX_INPUT_DEPTH, maxItems);
      return { value: packr.unpack(bytes) as unknown, hasBytes };
    },
  };
}

/** A Buffer where available: the library writes strings with its methods. */
function freshBuffer(): Uint8Array {
  return native ? native.allocUnsafeSlow(FRESH_BYTES) : new Uint8Array(FRESH_BYTES);
}

/** Converts a value to JSON values and byte arrays. Plain values are not copied. */
function toPlain(value: unknown, depth: number): unknown {
  switch (typeof value) {
    case "string":
      if (!isWellFormed(value))
        throw new LoneSurrogateError("a string holds a lone surrogate (half of a surrogate pair)");
      return value;
    case "number":
      return Number.isFinite(value) ? value : null;
    case "boolean":
      return value;
    case "object":
      return value === null ? null : toPlainObject(value, depth);
    case "bigint":
      throw new TypeError("a bigint has no JSON form");
    default:
      return undefined;
  }
}

function toPlainObject(value: object, depth: number): unknown {
  if (value instanceof Uint8Array) return value;
  if (depth > MAX_INPUT_DEPTH) throw new TooDeepError("nested too deeply or contains itself");
  const { toJSON } = value as { toJSON?: unknown };
  if (typeof toJSON === "function") return toPlain(toJSON.call(value), depth + 1);
  if (Array.isArray(value)) return toPlainArray(value, depth);
  let copy: Record<string, unknown> | undefined;
  for (const key in value) {
    const member = (value as Record<string, unknown>)[key];
    const plain = toPlain(member, depth + 1);
    if (key === "__proto__") throw new TypeError('"__proto__" is not allowed as a key');
    if (plain === member && plain !== undefined) continue;
    copy ??= { ...(value as Record<string, unknown>) };
    if (plain === undefined) delete copy[key];
    else copy[key] = plain;
  }
  return copy ?? value;
}

function toPlainArray(value: unknown[], depth: number): unknown[] {
  let copy: unknown[] | undefined;
  for (let i = 0; i < value.length; i++) {
    const item = value[i];
    if (typeof item === "number" && Number.isFinite(item)) continue;
    const plain = toPlain(item, depth + 1) ?? null;
    if (plain !== item) (copy ??= value.slice())[i] = plain;
  }
  return copy ?? value;
}

const native = (globalThis as { Buffer?: typeof Buffer }).Buffer;
