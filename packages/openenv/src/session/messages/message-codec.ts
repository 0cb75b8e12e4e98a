import type { ValidationIssue } from "../../errors.js";
import { parseJson, stringifyJson, TooDeepError, TooManyItemsError } from "../../protocol/codec/json.js";
import {
  type ClientMessage,
  type ErrorData,
  errorData,
  FRAMES,
  type ServerMessage,
  type WireCode,
} from "../../protocol/messages.js";
import { isObject } from "../../util/is-object.js";
import { briefInput } from "../../validation/errors/brief-input.js";
import { extraField, MAX_ISSUES, missingField, notAnObject } from "../../validation/errors/issues.js";

/** The issue type for a {@link TooManyItemsError}. */
export const TOO_MANY_ITEMS = "too_many_items";

export type ErrorMessage = Extract<ServerMessage, { type: "error" }>;

/** Parses one text frame of `/ws`. Returns the message or an error message for the client. Never throws. */
export function parseMessage(text: string): ClientMessage | ErrorMessage {
  try {
    return checkMessage(parseJson(text));
  } catch (error) {
    return explainUnreadable(error, "JSON");
  }
}

/** The answer to a frame that could not be parsed. */
export function explainUnreadable(error: unknown, format: "JSON" | "MessagePack"): ErrorMessage {
  const { message } = error as Error;
  if (error instanceof TooDeepError) {
    return invalidMessage([{ type: "recursion_limit", loc: [], msg: message, input: null }]);
  }
  if (error instanceof TooManyItemsError) {
    return invalidMessage([{ type: TOO_MANY_ITEMS, loc: [], msg: message, input: null }]);
  }
  return errorMessage("INVALID_JSON", `Invalid ${format}: ${message}`);
}

export function errorMessage(code: WireCode, message: string, more: Partial<ErrorData> = {}): ErrorMessage {
  return { type: "error", data: errorData(code, message, more) };
}

export function invalidMessage(errors: ValidationIssue[]): ErrorMessage {
  // Python clients show only the message, so it includes the first error.
  const [first] = errors;
  const where = first === undefined || first.loc.length === 0 ? "" : `${first.loc.join(".")}: `;
  const rest = errors.length > 1 ? ` (and ${errors.length - 1} more)` : "";
  const message = first === undefined ? "Invalid message" : `Invalid message: ${where}${first.msg}${rest}`;
  return errorMessage("VALIDATION_ERROR", message, { errors });
}

/** Validates a parsed frame. Returns the message or an error message for the client. */
export function checkMessage(frame: unknown): ClientMessage | ErrorMessage {
  if (!isObject(frame)) return invalidMessage([notAnObject([], frame)]);
  const { type, data } = frame;
  if (typeof type !== "string" || !Object.hasOwn(FRAMES, type)) {
    const known = Object.keys(FRAMES).join(", ");
    return errorMessage("UNKNOWN_TYPE", `Unknown message type: ${show(type)}; known types are ${known}`);
  }
  const { data: rule } = FRAMES[type as ClientMessage["type"]];
  const hasData = "data" in frame;
  let issues: ValidationIssue[] | undefined;
  if (rule !== "none") {
    if (!hasData && rule === "required") {
      issues = [missingField(["data"], frame)];
    } else if (hasData && !isObject(data)) {
      issues = [notAnObject(["data"], data)];
    }
  }
  for (const key in frame) {
    if (key === "type" || (key === "data" && rule !== "none")) continue;
    (issues ??= []).push(extraField([key], frame[key]));
    if (issues.length >= MAX_ISSUES) break;
  }
  return issues === undefined ? (frame as unknown as ClientMessage) : invalidMessage(issues);
}

/** Does not use String(), because an object can have its own toString. */
function show(value: unknown): string {
  return value === undefined ? "none" : JSON.stringify(briefInput(value));
}

/** An answer cannot be sent: it is too large or contains values without a form in JSON or UTF-8. */
export class SerializationError extends Error {}

/** Serialises an answer. If that fails, returns an error message with the reason, and the session continues. */
export function renderReply(reply: ServerMessage | object, maxBytes: number): string {
  try {
    return serializeReply(reply, maxBytes);
  } catch (error) {
    return JSON.stringify(errorMessage("EXECUTION_ERROR", serializationFailure(error)));
  }
}

/** The message for the peer when its answer cannot be sent. */
export function serializationFailure(error: unknown): string {
  return `the answer cannot be sent: ${(error as Error).message}`;
}

/** The last answer that was recorded and its text. Most are sent at once and unchanged, with the same text. */
export const lastRecorded: { answer?: object | undefined; text?: string | undefined } = {};

/** @throws SerializationError with the reason, which each transport reports in its own format. */
export function serializeReply(reply: object, maxBytes: number): string {
  let text: string;
  try {
    text = stringifyJson(reply, reply === lastRecorded.answer ? lastRecorded.text : undefined);
    lastRecorded.answer = lastRecorded.text = undefined;
  } catch (error) {
    throw new SerializationError((error as Error).message, { cause: error });
  }
  // UTF-8 needs at most three bytes per UTF-16 code unit, so short texts need no count.
  if (text.length * 3 > maxBytes && Buffer.byteLength(text) > maxBytes) {
    const { path, size } = largestPart(reply, text.length);
    const part = path && `: ${path} has ${size} characters of JSON`;
    throw tooLarge(maxBytes, part);
  }
  return text;
}

/** The member that most of an answer consists of, as long as one member has more than half of it. */
function largestPart(reply: object, length: number): { path: string; size: number } {
  let found = { path: "", size: length, value: reply as unknown };
  for (;;) {
    const { value, path, size } = found;
    if (typeof value !== "object" || value === null) return found;
    const large = Object.entries(value)
      .map(([key, member]) => ({
        path: `${path}${path && "."}${key}`,
        size: jsonLength(member),
        value: member as unknown,
      }))
      .find((member) => member.size > size / 2);
    if (large === undefined) return found;
    found = large;
  }
}

function jsonLength(value: unknown): number {
  return value === undefined ? 0 : stringifyJson(value).length;
}

export function tooLarge(maxBytes: number, part = ""): SerializationError {
  return new SerializationError(`the answer is larger than ${maxBytes} bytes${part}; no setting raises this limit`);
}
