import type { BatchReply, ManyMessage } from "../../protocol/batch.js";
import type { BinaryCodec } from "../../protocol/codec/binary.js";
import type { ForkedMessage, ResumedMessage, ServerMessage } from "../../protocol/messages.js";
import {
  errorMessage,
  SerializationError,
  serializationFailure,
  serializeReply,
} from "../../session/messages/message-codec.js";

/** A text frame or a binary frame. */
export type EncodedReply = string | Uint8Array;
/** Encodes an answer of at most `maxBytes`. @throws Error with the reason when it cannot be encoded. */
export type EncodeReply = (reply: object, maxBytes: number) => EncodedReply;

export const writeText: EncodeReply = serializeReply;

export function binaryWriter(codec: BinaryCodec): EncodeReply {
  return (reply, maxBytes) => {
    const bytes = codec.encode(reply);
    if (bytes.byteLength > maxBytes) throw new SerializationError(`the answer is larger than ${maxBytes} bytes`);
    return bytes;
  };
}

type Reply = ServerMessage | ManyMessage | ResumedMessage | ForkedMessage;

/** Replaces a reply that cannot be encoded by an error; of a batch reply, only the items concerned. */
export function fixReply(reply: Reply, error: unknown, { write, maxBytes }: EncodeOptions): Reply {
  return reply.type === "many" ? fix(reply, write, maxBytes) : unwritable(error);
}

interface EncodeOptions {
  write: EncodeReply;
  maxBytes: number;
}

function fix(message: ManyMessage, write: EncodeReply, maxBytes: number): ManyMessage {
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
