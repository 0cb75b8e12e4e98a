import { InvalidOutputError } from "../../validation/json-safe.js";
import { toError } from "../failure.js";

/** What an isolated session can be asked. `ping` is for the isolate itself. */
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

/** What `create` answers. */
export interface Created {
  /** Which of the methods that an environment need not have it has. */
  has: ("afterTool" | "render" | "actions")[];
}

/** The input of `tool`. */
export interface IsolateToolCall {
  name: string;
  input: unknown;
}

/** What `step` is told beside the action, but its signal. */
export interface IsolateContext {
  metadata: Readonly<Record<string, unknown>>;
  timeoutMs: number | undefined;
  requestId: string | undefined;
}

/** To the isolate. Every request is answered once; `abort` names the request whose signal aborts. */
export type ToIsolate =
  | { type: "request"; id: number; session: number; method: IsolateMethod; input?: unknown; context?: IsolateContext }
  | { type: "abort"; id: number; reason: string }
  | { type: "end" };

/** From the isolate: first `ready` or `unusable`, then answers. */
export type FromIsolate =
  | { type: "ready"; contract: string }
  | { type: "unusable"; error: PackedError }
  | { type: "answer"; id: number; value: unknown }
  | { type: "failure"; id: number; error: PackedError };

/** An error without its class, which does not cross. */
export type PackedError =
  | { name: string; message: string; stack: string; more: ErrorMembers; cause: PackedError | undefined }
  | { thrown: string };

/** What tells errors apart that are otherwise alike. */
interface ErrorMembers {
  code?: string;
  errorType?: string;
}

/** More causes than these of one error stay behind. */
const MAX_CAUSES = 4;

/** Never throws, and gives what crosses: anything can be thrown, also what throws when it is looked at. */
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
 * What was thrown in the isolate: an Error with the same name, message, stack, code, type and cause, or the text of what was none.
 * Our own that says what is wrong with a result is itself again, because clients are told what it says.
 */
export function unpackError(packed: PackedError): unknown {
  if ("thrown" in packed) return packed.thrown;
  const { name, message, stack, more, cause } = packed;
  const isOurs = name === InvalidOutputError.name && more.code === "EXECUTION_ERROR";
  const error = isOurs ? new InvalidOutputError(message) : new Error(message, cause && { cause: unpackError(cause) });
  return Object.assign(error, { name, stack, ...more });
}
