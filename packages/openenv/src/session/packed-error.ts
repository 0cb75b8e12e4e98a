import { EnvironmentError } from "../errors.js";
import { InvalidOutputError } from "../validation/json-safe.js";
import { toError } from "./to-error.js";

/** An error without its class, which cannot be cloned. */
export type PackedError =
  | { name: string; message: string; stack: string; more: ErrorMembers; cause: PackedError | undefined }
  | { thrown: string };

/** Members that distinguish errors of the same class. */
interface ErrorMembers {
  code?: string;
  errorType?: string;
  reason?: string;
  fault?: string;
}

/** Maximum number of nested causes that are sent. */
const MAX_CAUSES = 4;

/** Converts any thrown value to a cloneable object. Never throws, even if members of the value throw. */
export function packError(error: unknown, causes = MAX_CAUSES): PackedError {
  const readable = toError(error);
  if (readable !== error) return { thrown: readable.message };
  try {
    const { code, errorType, reason, fault } = error as Record<keyof ErrorMembers, unknown>;
    const { name, message, stack = "", cause } = readable;
    const more: ErrorMembers = {};
    if (typeof code === "string") more.code = code;
    if (typeof errorType === "string") more.errorType = errorType;
    if (typeof reason === "string") more.reason = reason;
    if (typeof fault === "string") more.fault = fault;
    const inner = cause instanceof Error && causes > 0 ? packError(cause, causes - 1) : undefined;
    return { name: typeof name === "string" ? name : "Error", message, stack, more, cause: inner };
  } catch {
    return { thrown: readable.message };
  }
}

/**
 * The value thrown in the isolate: an Error with the same name, message, stack, code, type and cause, or the text of a
 * value that is not an Error. The classes whose message is sent to clients are kept.
 */
export function unpackError(packed: PackedError): unknown {
  if ("thrown" in packed) return packed.thrown;
  const { name, message, stack, more, cause } = packed;
  const isOurs = name === InvalidOutputError.name && more.code === "EXECUTION_ERROR";
  const options = cause && { cause: unpackError(cause) };
  const Kind = more.code === "ENV_FAILED" ? EnvironmentError : Error;
  const error = isOurs ? new InvalidOutputError(message) : new Kind(message, options);
  return Object.assign(error, { name, stack, ...more });
}
