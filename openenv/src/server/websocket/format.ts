import type { BatchReply, ManyMessage } from "../../protocol/batch.js";
import type { BinaryCodec } from "../../protocol/codec/binary.js";
import type { ServerMessage } from "../../protocol/messages.js";
import { errorMessage, tellUnsendable, UnsendableError, writeReply } from "../../session/messages/frame.js";

/** A text frame or a binary one. */
export type Answer = string | Uint8Array;
/** Writes an answer of at most so many bytes. @throws Error with the reason why it cannot be written. */
export type Write = (reply: object, maxBytes: number) => Answer;

export const writeText: Write = writeReply;

export function binaryWriter(codec: BinaryCodec): Write {
  return (reply, maxBytes) => {
    const bytes = codec.encode(reply);
    if (bytes.byteLength > maxBytes) throw new UnsendableError(`the answer is larger than ${maxBytes} bytes`);
    return bytes;
  };
}

type Reply = ServerMessage | ManyMessage;

/** What is answered in place of a reply that cannot be written: the reason, of many only for the items concerned. */
export function mendReply(reply: Reply, error: unknown, { write, maxBytes }: Writing): Reply {
  return reply.type === "many" ? mend(reply, write, maxBytes) : unwritable(error);
}

interface Writing {
  write: Write;
  maxBytes: number;
}

function mend(message: ManyMessage, write: Write, maxBytes: number): ManyMessage {
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
  return errorMessage("EXECUTION_ERROR", tellUnsendable(error));
}
