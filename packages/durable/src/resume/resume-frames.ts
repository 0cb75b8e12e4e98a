import type { JsonObject } from "#core/protocol/messages.js";
import { type ErrorMessage, invalidMessage } from "#core/session/messages/message-codec.js";
import type { Frame, ReceivedFrame } from "#core/session/registry/session-keeper.js";
import { isObject } from "#core/util/is-object.js";
import { missingField } from "#core/validation/errors/issues.js";
import type { NumberedRequest } from "../session/durable-session.js";
import { digestRequest } from "../session/request-digest.js";

/** The members of a request that is valid. */
const NUMBERED = ["type", "data", "seq", "ack"];
/** Characters or bytes of a request that is kept whole. */
const KEPT_WHOLE = 4096;
/** Begins what is kept of others; no JSON object begins so. */
const DIGEST = "digest:";

export function isResume(frame: unknown): frame is JsonObject {
  return isObject(frame) && frame["type"] === "resume";
}

/** The number of a frame, or the error that answers it. */
export function readNumbered(
  frame: JsonObject,
  received: ReceivedFrame,
): (NumberedRequest & { frame: JsonObject }) | ErrorMessage {
  const { seq, ack } = frame;
  if (!isCount(seq) || seq === 0) return invalidNumber("seq", frame, "a positive integer");
  if (!isCount(ack) || ack >= seq) return invalidNumber("ack", frame, "0 or the highest seq answered, below seq");
  const isRepeat = (stored: Frame): boolean => isSame(stored, frame, received);
  return { seq, ack, frame: withoutNumbers(frame), request: keep(received.raw, frame), isRepeat };
}

/** Rest syntax alone would do the same, and cost as much as the rest of this file. */
export function withoutNumbers(frame: JsonObject): JsonObject {
  for (const key in frame) {
    if (NUMBERED.includes(key)) continue;
    const { seq, ack, ...request } = frame;
    return request;
  }
  const { type, data } = frame;
  return data === undefined ? { type } : { type, data };
}

export function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function invalidNumber(name: string, frame: JsonObject, expected: string): ErrorMessage {
  if (!(name in frame)) return invalidMessage([missingField([name], frame)]);
  const input = typeof frame[name] === "object" ? null : frame[name];
  return invalidMessage([{ type: "value_error", loc: [name], msg: `must be ${expected}`, input }]);
}

/** What is kept of a request to compare repeats with: a short one itself, a digest of a long one. */
function keep(raw: Frame, frame: JsonObject): Frame {
  if (raw.length > KEPT_WHOLE) return DIGEST + digestRequest(frame);
  // A small buffer may be part of a large one, which it would keep.
  return typeof raw === "string" ? raw : new Uint8Array(raw);
}

/** Only a repeat is compared: first as it was received, then by its values. */
function isSame(stored: Frame, frame: JsonObject, { raw, read }: ReceivedFrame): boolean {
  if (typeof stored === "string" && stored.startsWith(DIGEST)) return stored === DIGEST + digestRequest(frame);
  if (typeof stored === "string" ? stored === raw : typeof raw !== "string" && Buffer.compare(stored, raw) === 0) {
    return true;
  }
  return digestRequest(read(stored) as JsonObject) === digestRequest(frame);
}
