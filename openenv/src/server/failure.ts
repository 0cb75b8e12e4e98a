import { EnvError } from "../errors.js";
import type { Mode } from "./types.js";

/**
 * What a client is told of an exception in author code: the author's own message. In production only an
 * EnvError speaks for itself, because other messages can hold paths and secrets; the log has them.
 */
export function describeError(error: unknown, mode: Mode): string {
  if (error instanceof EnvError || isEnvError(error)) return error.message;
  if (mode === "production") return "the environment failed; the server's log has the cause";
  if (error instanceof Error) return error.message || error.name;
  return String(error);
}

/** Also for an EnvError of another copy of this package, as a bundled environment may bring one. */
function isEnvError(error: unknown): error is EnvError {
  return error instanceof Error && (error as { code?: unknown }).code === "ENV_FAILED";
}
