import type { MessageParts } from "#parts/sockets";
import type { BatchReply, ManyMessage } from "../../protocol/batch.js";
import type { BinaryCodec } from "../../protocol/codec/binary.js";
import type { ForkedMessage, ResumedMessage, ServerMessage } from "../../protocol/messages.js";
import {
  errorMessage,
  SerializationError,
  serializationFailure,
  serializeReply,
} from "../../session/messages/message-codec.js";
import { encodeInParts, serializeInParts } from "./message-parts.js";

/** A text frame or a binary frame. */
export type EncodedReply = string | Uint8Array;
/** One that is sent once, and not stored. */
export type SentReply = EncodedReply | MessageParts;
/** Encodes an answer of at most `maxBytes`. @throws Error with the reason when it cannot be encoded. */
export type EncodeReply<R extends SentReply = EncodedReply> = (reply: object, maxBytes: number) => R;

export const writeText: EncodeReply<string> = serializeReply;

/** Long strings in these fields of the observation become parts where that is faster. */
export function textPartsWriter(fields: ReadonlySet<string>): EncodeReply<string | MessageParts> {
  return limit((reply, maxBytes) => serializeInParts(reply, maxBytes, fields));
}

export function binaryWriter(codec: BinaryCodec): EncodeReply<Uint8Array> {
  return limit(codec.encode);
}

/** Large byte arrays in these fields of the observation become parts. */
export function binaryPartsWriter(
  codec: BinaryCodec,
  fields: ReadonlySet<string>,
): EncodeReply<Uint8Array | MessageParts> {
  return limit((reply) => encodeInParts(codec, reply, fields));
}

/** A string has been checked by `serializeReply`. */
function limit<R extends SentReply>(encode: EncodeReply<R>): EncodeReply<R> {
  return (reply, maxBytes) => {
    const encoded = encode(reply, maxBytes);
    if (typeof encoded !== "string" && encoded.length > maxBytes) {
      throw new SerializationError(`the answer is larger than ${maxBytes} bytes`);
    }
    return encoded;
  };
}

type Reply = ServerMessage | ManyMessage | ResumedMessage | ForkedMessage;

/** Replaces a reply that cannot be encoded by an error; of a batch reply, only the items concerned. */
export function fixReply(reply: Reply, error: unknown, { write, maxBytes }: EncodeOptions): Reply {
  return reply.type === "many" ? fix(reply, write, maxBytes) : unwritable(error);
}

interface EncodeOptions {
  write: EncodeReply<SentReply>;
  maxBytes: number;
}

function fix(message: ManyMessage, write: EncodeReply<SentReply>, maxBytes: number): ManyMessage {
  let left = maxBytes;
  const items = message.data.items.map((item): BatchReply => {
    try {
      const { length } = write(item, left);
      left -= length;
      return item;
    } catch (error) {
      return unwritable(error);
    }
  });
  return { ...message, data: { items } };
}

function unwritable(error: unknown): Extract<ServerMessage, { type: "error" }> {
  return errorMessage("EXECUTION_ERROR", serializationFailure(error));
}
