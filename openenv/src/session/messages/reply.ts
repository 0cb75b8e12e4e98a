import { stringifyJson } from "../../protocol/codec/json.js";
import type { ServerMessage } from "../../protocol/messages.js";
import { errorMessage } from "./frame.js";

/** An answer that cannot be written: it is too large, or holds what JSON or UTF-8 has no form for. */
export class UnsendableError extends Error {}

/** The text of an answer; one that cannot be written is answered with the reason, and the session goes on. */
export function renderReply(reply: ServerMessage | object, maxBytes: number): string {
  try {
    return writeReply(reply, maxBytes);
  } catch (error) {
    return JSON.stringify(errorMessage("EXECUTION_ERROR", tellUnsendable(error)));
  }
}

/** What a peer is told instead. */
export function tellUnsendable(error: unknown): string {
  return `the answer cannot be sent: ${(error as Error).message}`;
}

/** @throws UnsendableError with the reason; each transport has its own way to tell. */
export function writeReply(reply: object, maxBytes: number): string {
  let text: string;
  try {
    text = stringifyJson(reply);
  } catch (error) {
    throw new UnsendableError((error as Error).message, { cause: error });
  }
  // UTF-8 takes at most three bytes for each UTF-16 unit: short texts need no count.
  if (text.length * 3 > maxBytes && byteLength(text) > maxBytes) {
    throw new UnsendableError(`the answer is larger than ${maxBytes} bytes`);
  }
  return text;
}

function byteLength(text: string): number {
  return new TextEncoder().encode(text).byteLength;
}
