import { randomBytes } from "node:crypto";
import { Bytes } from "../../contract/fields.js";
import type { BinaryCodec } from "../../protocol/codec/binary.js";
import type { JsonObject } from "../../protocol/messages.js";
import { isObject } from "../../util/is-object.js";

/** Byte arrays of this size are not copied, bytes. */
const LARGE = 64 * 1024;
/** Encoded where a large array belongs. Nobody else knows it, so it occurs nowhere else. */
const HOLE = randomBytes(16);
/** Before it: the type of a short byte array and its length. */
const HOLE_HEADER_BYTES = 2;
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

/** Encodes an answer; of its observation, large byte arrays in these fields become parts. */
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
    rest[name] = HOLE;
  }
  return fill(codec.encode({ ...reply, data: { ...data, observation: rest } }) as Buffer, arrays);
}

function hasLarge(observation: JsonObject, fields: ReadonlySet<string>): boolean {
  for (const name of fields) if (isLarge(observation[name])) return true;
  return false;
}

function isLarge(value: unknown): value is Bytes {
  return value instanceof Bytes && value.length >= LARGE;
}

function fill(packed: Buffer, arrays: readonly Uint8Array[]): MessageParts {
  const list: Uint8Array[] = [];
  let at = 0;
  for (const array of arrays) {
    const hole = packed.indexOf(HOLE, at);
    const header = Buffer.allocUnsafe(5);
    header[0] = BIN_32;
    header.writeUInt32BE(array.length, 1);
    list.push(Buffer.concat([packed.subarray(at, hole - HOLE_HEADER_BYTES), header]), array);
    at = hole + HOLE.length;
  }
  list.push(packed.subarray(at));
  return new MessageParts(list);
}
