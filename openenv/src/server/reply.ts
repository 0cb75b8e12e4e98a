import { stringifyJson } from "../protocol/json.js";
import type { ServerMessage } from "../protocol/messages.js";
import { errorMessage } from "./frame.js";

/** The text of an answer; one that cannot be written is answered with the reason, and the session goes on. */
export function renderReply(reply: ServerMessage | object, maxBytes: number): string {
  try {
    const text = stringifyJson(reply);
    // UTF-8 takes at most three bytes for each UTF-16 unit: short texts need no count.
    if (text.length * 3 > maxBytes && byteLength(text) > maxBytes) {
      throw new RangeError(`the answer is larger than ${maxBytes} bytes`);
    }
    return text;
  } catch (error) {
    return JSON.stringify(errorMessage("EXECUTION_ERROR", `the answer cannot be sent: ${(error as Error).message}`));
  }
}

function byteLength(text: string): number {
  return new TextEncoder().encode(text).byteLength;
}
