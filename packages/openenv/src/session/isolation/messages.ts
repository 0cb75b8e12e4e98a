import { InvalidOutputError } from "../../validation/json-safe.js";
import { toError } from "../failure.js";

/** The methods of an isolated session. `ping` is for the isolate itself. */
export type IsolateMethod =
  | "create"
  | "reset"
  | "step"
  | "state"
  | "close"
  | "tool"
  | "afterTool"
  | "render"
  | "actions"
  | "ping";

/** The answer to `create`. */
export interface Created {
  /** The optional methods that the environment has. */
  has: ("afterTool" | "render" | "actions")[];
}

/** The input of `tool`. */
export interface IsolateToolCall {
  name: string;
  input: unknown;
}

/** The context of `step`, without its signal. */
export interface IsolateContext {
  metadata: Readonly<Record<string, unknown>>;
  timeoutMs: number | undefined;
  requestId: string | undefined;
}

/** Messages to the isolate. Every request has one answer; `abort` aborts the signal of a request. */
export type ToIsolate =
  | { type: "request"; id: number; session: number; method: IsolateMethod; input?: unknown; context?: IsolateContext }
  | { type: "abort"; id: number; reason: string }
  | { type: "end" };

/** Messages from the isolate: first `ready` or `unusable`, then answers. */
export type FromIsolate =
  | { type: "ready"; contract: string }
  | { type: "unusable"; error: PackedError }
  | { type: "answer"; id: number; value: unknown }
  | { type: "failure"; id: number; error: PackedError };

/** An error without its class, which cannot be cloned. */
export type PackedError =
  | { name: string; message: string; stack: string; more: ErrorMembers; cause: PackedError | undefined }
  | { thrown: string };

/** Members that distinguish errors of the same class. */
interface ErrorMembers {
  code?: string;
  errorType?: string;
}

/** Maximum number of nested causes that are sent. */
const MAX_CAUSES = 4;

/** Converts any thrown value to a cloneable object. Never throws, even if members of the value throw. */
export function packError(error: unknown, causes = MAX_CAUSES): PackedError {
  const readable = toError(error);
  if (readable !== error) return { thrown: readable.message };
  try {
    const { code, errorType } = error as { code?: unknown; errorType?: unknown };
    const { name, message, stack = "", cause } = readable;
    const more: ErrorMembers = {};
    if (typeof code === "string") more.code = code;
    if (typeof errorType === "string") more.errorType = errorType;
    const inner = cause instanceof Error && causes > 0 ? packError(cause, causes - 1) : undefined;
    return { name: typeof name === "string" ? name : "Error", message, stack, more, cause: inner };
  } catch {
    return { thrown: readable.message };
  }
}

/**
 * The value thrown in the isolate: an Error with the same name, message, stack, code, type and cause, or the text of a
 * value that is not an Error. InvalidOutputError keeps its class, because its message is sent to clients.
 */
export function unpackError(packed: PackedError): unknown {
  if ("thrown" in packed) return packed.thrown;
  const { name, message, stack, more, cause } = packed;
  const isOurs = name === InvalidOutputError.name && more.code === "EXECUTION_ERROR";
  const error = isOurs ? new InvalidOutputError(message) : new Error(message, cause && { cause: unpackError(cause) });
  return Object.assign(error, { name, stack, ...more });
}
