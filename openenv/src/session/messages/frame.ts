import type { ValidationIssue } from "../../errors.js";
import { parseJson, TooDeepError, TooManyItemsError } from "../../protocol/codec/json.js";
import type { ClientMessage, ErrorData, JsonObject, ServerMessage, WireCode } from "../../protocol/messages.js";
import { isObject } from "../../util/is-object.js";
import { briefInput } from "../../validation/errors/brief-input.js";
import { extraField, MAX_ISSUES, missingField, notAnObject } from "../../validation/errors/issues.js";

/** The type of the issue that answers a {@link TooManyItemsError}. */
export const TOO_MANY_ITEMS = "too_many_items";

export type ErrorMessage = Extract<ServerMessage, { type: "error" }>;

/** Reads one text frame of `/ws`: the message, or the error that answers it. Never throws. */
export function readFrame(text: string): ClientMessage | ErrorMessage {
  return readWith(() => parseJson(text), JSON_FRAMES);
}

export interface ReadOptions<M> {
  /** What errors call it. */
  format: string;
  check(frame: JsonObject): M | ErrorMessage;
}

/** Reads one frame in whatever format: what `check` makes of its object, or the error that answers it. Never throws. */
export function readWith<M>(parse: () => unknown, { format, check }: ReadOptions<M>): M | ErrorMessage {
  let value: unknown;
  try {
    value = parse();
  } catch (error) {
    if (error instanceof TooDeepError) {
      return invalidMessage([{ type: "recursion_limit", loc: [], msg: error.message, input: null }]);
    }
    if (error instanceof TooManyItemsError) {
      return invalidMessage([{ type: TOO_MANY_ITEMS, loc: [], msg: error.message, input: null }]);
    }
    return errorMessage("INVALID_JSON", `Invalid ${format}: ${(error as Error).message}`);
  }
  if (!isObject(value)) {
    return invalidMessage([notAnObject([], value)]);
  }
  return check(value);
}

export function errorMessage(code: WireCode, message: string, more: Partial<ErrorData> = {}): ErrorMessage {
  return { type: "error", data: { message, code, ...more } };
}

export function invalidMessage(errors: ValidationIssue[]): ErrorMessage {
  // Stock clients show the message alone: the first fault is told in it.
  const [first] = errors;
  const where = first === undefined || first.loc.length === 0 ? "" : `${first.loc.join(".")}: `;
  const rest = errors.length > 1 ? ` (and ${errors.length - 1} more)` : "";
  const message = first === undefined ? "Invalid message" : `Invalid message: ${where}${first.msg}${rest}`;
  return errorMessage("VALIDATION_ERROR", message, { errors });
}

const JSON_FRAMES: ReadOptions<ClientMessage> = { format: "JSON", check: checkFrame };

/** Which types have `data`, and whether it must be there. */
const DATA_RULES = { reset: "optional", step: "required", mcp: "required", state: "none", close: "none" } as const;

export function checkFrame(frame: JsonObject): ClientMessage | ErrorMessage {
  const { type, data } = frame;
  if (typeof type !== "string" || !Object.hasOwn(DATA_RULES, type)) {
    const known = Object.keys(DATA_RULES).join(", ");
    return errorMessage("UNKNOWN_TYPE", `Unknown message type: ${show(type)}; known are ${known}`);
  }
  const rule = DATA_RULES[type as keyof typeof DATA_RULES];
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

/** Never by String(): an object can bring a toString of its own. */
function show(value: unknown): string {
  return value === undefined ? "none" : JSON.stringify(briefInput(value));
}
