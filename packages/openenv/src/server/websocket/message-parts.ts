import { randomBytes } from "node:crypto";
import { MessageParts } from "#parts/sockets";
import { Bytes } from "../../contract/fields.js";
import type { BinaryCodec } from "../../protocol/codec/binary.js";
import type { JsonObject } from "../../protocol/messages.js";
import { serializeReply } from "../../session/messages/message-codec.js";
import { isObject } from "../../util/is-object.js";
import { ESCAPES_FASTER, escapeJson } from "../../util/text/escape-json.js";
import { isWellFormed } from "../../util/text/is-well-formed.js";

/** The size from which values become parts: bytes, or UTF-16 code units of a string. */
const LARGE = 64 * 1024;
/** Encoded in place of a large value, to find its position. Random and secret, so that no value contains it. */
const PLACEHOLDER = randomBytes(16);
/** The placeholder in MessagePack, with its type and length. */
const PACKED_PLACEHOLDER = Buffer.concat([Buffer.of(0xc4, PLACEHOLDER.length), PLACEHOLDER]);
const TEXT_PLACEHOLDER = PLACEHOLDER.toString("hex");
/** The type of a byte array whose length has 32 bits (MessagePack, bin 32). */
const BIN_32 = 0xc6;

/**
 * Encodes an answer as MessagePack. Large byte arrays in these fields of the observation become parts; the environment
 * must not be able to change them.
 */
export function encodeInParts(
  codec: BinaryCodec,
  reply: object,
  fields: ReadonlySet<string>,
): Uint8Array | MessageParts {
  const taken = takeLarge(reply, fields, isLargeArray, PLACEHOLDER);
  if (taken === undefined) return codec.encode(reply);
  const packed = codec.encode(taken.rest) as Buffer;
  return new MessageParts(fill(packed, PACKED_PLACEHOLDER, taken.values, withHeader), false);
}

/** The same as `serializeReply`, but long strings in these fields of the observation become parts. */
export function serializeInParts(reply: object, maxBytes: number, fields: ReadonlySet<string>): string | MessageParts {
  const taken = ESCAPES_FASTER ? takeLarge(reply, fields, isLongString, TEXT_PLACEHOLDER) : undefined;
  if (taken === undefined) return serializeReply(reply, maxBytes);
  const text = Buffer.from(serializeReply(taken.rest, maxBytes));
  return new MessageParts(fill(text, TEXT_PLACEHOLDER, taken.values, escapeJson), true);
}

interface Taken<T> {
  values: T[];
  /** The answer with a placeholder for each. */
  rest: object;
}

/** Takes the large values of these fields out of the observation of an answer; undefined if it has none. */
function takeLarge<T>(
  reply: object,
  fields: ReadonlySet<string>,
  isLarge: (value: unknown) => value is T,
  placeholder: unknown,
): Taken<T> | undefined {
  const { data } = reply as { data?: { observation?: unknown } };
  const observation = data?.observation;
  if (!isObject(observation) || !hasLarge(observation, fields, isLarge)) return undefined;
  const values: T[] = [];
  const rest = { ...observation };
  for (const name in rest) {
    const value = rest[name];
    if (!isLarge(value) || !fields.has(name)) continue;
    values.push(value);
    rest[name] = placeholder;
  }
  return { values, rest: { ...reply, data: { ...data, observation: rest } } };
}

function hasLarge(observation: JsonObject, fields: ReadonlySet<string>, isLarge: (value: unknown) => boolean): boolean {
  for (const name of fields) if (isLarge(observation[name])) return true;
  return false;
}

function isLargeArray(value: unknown): value is Bytes {
  return value instanceof Bytes && value.length >= LARGE;
}

function isLongString(value: unknown): value is string {
  return typeof value === "string" && value.length >= LARGE && isWellFormed(value);
}

/** Replaces the placeholders by the parts of the values. */
function fill<T>(
  encoded: Buffer,
  placeholder: string | Buffer,
  values: readonly T[],
  toParts: (value: T) => Uint8Array[],
): Uint8Array[] {
  const list: Uint8Array[] = [];
  let at = 0;
  for (const value of values) {
    const position = encoded.indexOf(placeholder, at);
    list.push(encoded.subarray(at, position), ...toParts(value));
    at = position + placeholder.length;
  }
  list.push(encoded.subarray(at));
  return list;
}

function withHeader(array: Uint8Array): Uint8Array[] {
  const header = Buffer.allocUnsafe(5);
  header[0] = BIN_32;
  header.writeUInt32BE(array.length, 1);
  return [header, array];
}
