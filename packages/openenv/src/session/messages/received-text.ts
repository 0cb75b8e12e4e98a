import { memberText } from "../../protocol/codec/member-text.js";
import { serializeReply, tooLarge } from "./message-codec.js";

/** The texts of messages. */
const texts = new WeakMap<object, string>();
/** The texts of the messages whose data these are. */
const around = new WeakMap<object, string>();

/**
 * Remembers the text of a message that is passed on as it was received. A copy of it with other members has the text of
 * its data. Returns the message.
 */
export function keepText<M>(message: M, text: string): M {
  if (typeof message !== "object" || message === null) return message;
  texts.set(message, text);
  const { data } = message as { data?: unknown };
  if (typeof data === "object" && data !== null) around.set(data, text);
  return message;
}

/** The text of a message, in which only what was added here is new. @throws SerializationError like `serializeReply`. */
export function passedText(message: object, maxBytes: number): string {
  const whole = texts.get(message);
  if (whole !== undefined) return whole.length * 3 > maxBytes ? limited(whole, maxBytes) : whole;
  const { data, ...members } = message as { data?: object };
  const kept = data && around.get(data);
  const text = kept && memberText(kept, "data");
  if (text === undefined) return serializeReply(message, maxBytes);
  return limited(`${serializeReply(members, maxBytes).slice(0, -1)},"data":${text}}`, maxBytes);
}

function limited(text: string, maxBytes: number): string {
  if (Buffer.byteLength(text) > maxBytes) throw tooLarge(maxBytes);
  return text;
}

/** The text of a request: as it was received, or with its data as it was received. */
export function receivedText(request: { type: string; data?: object }): string {
  const { type, data } = request;
  return texts.get(request) ?? passedText({ type, ...(data && { data }) }, Number.POSITIVE_INFINITY);
}
