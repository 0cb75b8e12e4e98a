import type { ErrorCode } from "../errors.js";
import type { Mode } from "./runtime.js";

/**
 * What a client is told of an exception in author code: the author's own message. In production only an
 * EnvError or ToolError speaks for itself, because other messages can hold paths and secrets; the log has them. Never throws.
 */
export function describeError(error: unknown, mode: Mode): string {
  const { message, name } = toError(error);
  if (mode === "production" && !isEnvError(error)) return "the environment failed; the server's log has the cause";
  return mode === "production" ? message || name : (message || name) + causeInRubric(error);
}

/**
 * The error itself, also one of another realm (`node:vm`), or one that can be read: anything can be thrown, also what throws
 * when it is looked at.
 */
export function toError(error: unknown): Error {
  try {
    if (error instanceof Error || Object.prototype.toString.call(error) === "[object Error]") {
      const { message, name, stack } = error as Error;
      if (typeof message === "string" && typeof stack === "string") return error as Error;
      return new Error(typeof message === "string" ? message : String(name));
    }
    return new Error(typeof error === "string" ? error : (JSON.stringify(error) ?? String(error)));
  } catch {
    return new Error("something was thrown that cannot be read");
  }
}

const SPOKEN: readonly unknown[] = ["ENV_FAILED", "RUBRIC_FAILED", "TOOL_FAILED"] satisfies ErrorCode[];

/** Also for an error of another copy of this package, as a bundled environment may bring one. */
function isEnvError(error: unknown): boolean {
  try {
    return SPOKEN.includes((error as { code?: unknown } | undefined)?.code);
  } catch {
    return false;
  }
}

/** What broke inside of a rubric, which its own message keeps from clients in production. */
function causeInRubric(error: unknown): string {
  try {
    const { code, message, cause } = error as { code?: unknown; message: string; cause?: unknown };
    if (code !== "RUBRIC_FAILED" || cause === undefined) return "";
    const inner = toError(cause).message;
    return message.includes(inner) ? "" : `: ${inner}`;
  } catch {
    return "";
  }
}
