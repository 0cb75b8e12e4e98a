import { randomBytes } from "node:crypto";
import { Bytes } from "../../contract/fields.js";
import type { BinaryCodec } from "../../protocol/codec/binary.js";
import type { JsonObject } from "../../protocol/messages.js";
import { isObject } from "../../util/is-object.js";

/** The size from which byte arrays are not copied, bytes. */
const LARGE = 64 * 1024;
/** Encoded in place of a large array, to find its position. Random and secret, so that no value contains it. */
const PLACEHOLDER = randomBytes(16);
/** Before the placeholder: the type of a short byte array and its length. */
const PLACEHOLDER_HEADER_BYTES = 2;
/** The type of a byte array whose length has 32 bits (MessagePack, bin 32). */
const BIN_32 = 0xc6;

/** A binary message of at least 64 KiB in parts, which need not be copied into one buffer. */
export class MessageParts {
  readonly list: readonly Uint8Array[];
  /** Bytes. */
  readonly length: number;

  constructor(list: readonly Uint8Array[]) {
    this.list = list;
    this.length = list.reduce((sum, { length }) => sum + length, 0);
  }

  join(): Uint8Array {
    return Buffer.concat(this.list, this.length);
  }
}

/**
 * Encodes an answer. Large byte arrays in these fields of the observation become parts; the environment must not be able
 * to change them.
 */
export function encodeInParts(
  codec: BinaryCodec,
  reply: object,
  fields: ReadonlySet<string>,
): Uint8Array | MessageParts {
  const { data } = reply as { data?: { observation?: unknown } };
  const observation = data?.observation;
  if (!isObject(observation) || !hasLarge(observation, fields)) return codec.encode(reply);
  const arrays: Uint8Array[] = [];
  const rest = { ...observation };
  for (const name in rest) {
    const value = rest[name];
    if (!isLarge(value) || !fields.has(name)) continue;
    arrays.push(value);
    rest[name] = PLACEHOLDER;
  }
  return replacePlaceholders(codec.encode({ ...reply, data: { ...data, observation: rest } }) as Buffer, arrays);
}

function hasLarge(observation: JsonObject, fields: ReadonlySet<string>): boolean {
  for (const name of fields) if (isLarge(observation[name])) return true;
  return false;
}

function isLarge(value: unknown): value is Bytes {
  return value instanceof Bytes && value.length >= LARGE;
}

function replacePlaceholders(packed: Buffer, arrays: readonly Uint8Array[]): MessageParts {
  const list: Uint8Array[] = [];
  let at = 0;
  for (const array of arrays) {
    const position = packed.indexOf(PLACEHOLDER, at);
    const header = Buffer.allocUnsafe(5);
    header[0] = BIN_32;
    header.writeUInt32BE(array.length, 1);
    list.push(Buffer.concat([packed.subarray(at, position - PLACEHOLDER_HEADER_BYTES), header]), array);
    at = position + PLACEHOLDER.length;
  }
  list.push(packed.subarray(at));
  return new MessageParts(list);
}
