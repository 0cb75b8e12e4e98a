import type { EnvironmentDefinition } from "../environment/environment.js";
import type { ErrorCode, ToolErrorType } from "../errors.js";
import {
  type ClientMessage,
  type ErrorData,
  errorData,
  type ServerMessage,
  type WireCode,
} from "../protocol/messages.js";
import type { ToolOutcome } from "../protocol/tools.js";
import { InvalidOutputError } from "../validation/json-safe.js";
import { type ErrorMessage, errorMessage } from "./messages/message-codec.js";
import type { Mode, Runtime } from "./runtime.js";
import { SessionKilledError } from "./session-killed.js";
import { SessionRejectedError } from "./session-rejected-error.js";
import { toError } from "./to-error.js";

export { toError };

/** The calls that a session performs one after the other. */
export type CallKind = Exclude<ClientMessage["type"], "mcp" | "close"> | "tool" | "capture";

/** The answer to a request that did not reach the environment, timed out or was cancelled. */
export function rejectRequest(kind: CallKind, code: WireCode, message: string): ServerMessage | ToolOutcome {
  if (kind !== "tool") return errorMessage(code, message);
  const failed = failedCall("transport_error", message);
  if (code === "CANCELLED" && failed.error !== null) failed.error.code = code;
  return failed;
}

/** The error for a request that is reserved for the orchestrator. */
export function forbidden(kind: CallKind | "close" | "fork"): ErrorData {
  const message = `${kind} is reserved for the orchestrator: connect with OPENENV_ORCHESTRATOR_TOKEN as bearer token`;
  return errorData("FORBIDDEN", message);
}

/** The error for everything but a reset after the session of an address was lost, whatever a step before a reset does. */
export function lostEpisode(reason: string): ErrorData {
  const message = `the episode is lost (NO_EPISODE), because its session has ended (${reason}): mask it and call reset`;
  return errorData("EXECUTION_ERROR", message, { openenv_code: "NO_EPISODE", fault: "infrastructure" });
}

/** The error for a bug in this package. */
export function internalError(): ErrorData {
  return errorData("EXECUTION_ERROR", "Internal Server Error", { fault: "infrastructure" });
}

/**
 * Who caused an exception in author code. An error that the author's code got as a client of another server is not the
 * fault of the client here. Never throws.
 */
export function faultOf(error: unknown): "environment" | "infrastructure" {
  try {
    const { code, fault, cause } = error as { code?: unknown; fault?: unknown; cause?: unknown };
    if (code === "RUBRIC_FAILED") return faultOf(cause);
    return fault === "infrastructure" ? fault : "environment";
  } catch {
    return "environment";
  }
}

/** The answer to such a request. */
export function refuseLost(kind: CallKind, reason: string): ServerMessage | ToolOutcome {
  const data = lostEpisode(reason);
  return kind === "tool" ? failedCall("transport_error", data.message) : { type: "error", data };
}

/** The answer to a step that needs an episode, if there is none; undefined if there is one. */
export function checkEpisode(
  { episodeId, done }: { episodeId: string | null; done: boolean },
  { stepBeforeReset, stepAfterDone }: Pick<EnvironmentDefinition, "stepBeforeReset" | "stepAfterDone">,
  { inEpisode }: { inEpisode?: boolean },
): ErrorMessage | undefined {
  if (episodeId === null && stepBeforeReset === "error") {
    const message = "call reset first: this session has no episode to step in";
    return errorMessage("EXECUTION_ERROR", message, { openenv_code: "NO_EPISODE" });
  }
  if ((inEpisode !== true && stepAfterDone !== "error") || !done) return undefined;
  const message = "the episode has ended: call reset to begin another";
  return errorMessage("EXECUTION_ERROR", message, { openenv_code: "EPISODE_DONE" });
}

/** The part of a call that its failure names. */
interface FailedCall {
  type: CallKind;
  aborted: Error | undefined;
  member: number | undefined;
  step: number;
}

/** The answer to a request that failed in the environment, which is logged. Never throws. */
export function answerFailure(
  { runtime: { log, mode }, id }: { runtime: Pick<Runtime, "log" | "mode">; id: string },
  { type: kind, aborted, member, step }: FailedCall,
  error: unknown,
): ServerMessage | ToolOutcome {
  if (kind !== "tool" && aborted === undefined) {
    const fields = { err: toError(error), session: id, member, step, fault: faultOf(error) };
    log.warn(fields, `the environment failed in ${kind}`);
  } else if (kind !== "tool") {
    log.debug({ session: id, member, step, reason: aborted?.message }, `${kind} was cancelled`);
  }
  const cause = toError(error);
  const isKilled = cause instanceof SessionKilledError;
  const reason = lostReason(error);
  if (kind === "tool") {
    if (reason !== undefined) return lostCall(reason);
    return failedCall(isKilled && cause.code === "TIMEOUT" ? "timeout" : "transport_error", cause.message);
  }
  if (isKilled) return errorMessage(cause.code, cause.message);
  if (reason !== undefined) return errorMessage("SESSION_LOST", reason);
  if (cause instanceof SessionRejectedError) return { type: "error", data: cause.data };
  const text = cause instanceof InvalidOutputError ? cause.message : describeError(error, mode);
  return errorMessage("EXECUTION_ERROR", text, { fault: faultOf(error) });
}

export function failedCall(error_type: ToolErrorType, message: string): ToolOutcome {
  return { result: null, error: { error_type, message } };
}

export function lostCall(reason: string): ToolOutcome {
  return { result: null, error: { error_type: "transport_error", message: reason, code: "SESSION_LOST" } };
}

/**
 * The reason of a SessionLostError, also of one from another copy of this package, from an isolate or from a rubric;
 * undefined for any other value. The ConnectionError of a client that the environment uses has no reason.
 */
export function lostReason(error: unknown): string | undefined {
  try {
    const { code, reason, cause } = error as { code?: unknown; reason?: unknown; cause?: unknown };
    if (code === "RUBRIC_FAILED") return lostReason(cause);
    return code === "SESSION_LOST" && typeof reason === "string" ? reason : undefined;
  } catch {
    return undefined;
  }
}

/**
 * The message that a client gets for an exception in author code. In production only EnvironmentError, RubricError and
 * ToolError messages are sent, because others can contain paths and secrets; the log has them. Never throws.
 */
export function describeError(error: unknown, mode: Mode): string {
  const { message, name } = toError(error);
  if (mode === "production" && !isEnvError(error)) return "the environment failed; the server's log has the cause";
  return mode === "production" ? message || name : (message || name) + causeInRubric(error);
}

const SPOKEN: readonly unknown[] = ["ENV_FAILED", "RUBRIC_FAILED", "TOOL_FAILED"] satisfies ErrorCode[];

/** True also for an error from another copy of this package, such as in a bundled environment. */
function isEnvError(error: unknown): boolean {
  try {
    return SPOKEN.includes((error as { code?: unknown } | undefined)?.code);
  } catch {
    return false;
  }
}

/** The message of the cause of a RubricError, which is not sent in production. */
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
