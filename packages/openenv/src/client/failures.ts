import { ConnectionError, RemoteError } from "../errors.js";
import type { JsonObject } from "../protocol/messages.js";

/** Why a call has no result. */
export type CallFailure = RemoteError | ConnectionError;

export function isFailure(value: unknown): value is CallFailure {
  return value instanceof RemoteError || value instanceof ConnectionError;
}

/** Rethrows anything that is not a failure of server or connection. */
export function asFailure(error: unknown): CallFailure {
  if (isFailure(error)) return error;
  throw error;
}

/** What `work` returns, or the failure that it throws. */
export function attempt<T>(work: () => T): T | CallFailure {
  try {
    return work();
  } catch (error) {
    return asFailure(error);
  }
}

/** The error of every call until the next reset succeeds. */
export function sessionLost(cause: CallFailure): ConnectionError {
  if (cause instanceof ConnectionError && cause.code === "SESSION_LOST") return cause;
  const message = `The session was lost: ${cause.message} Call reset to start a new episode.`;
  return new ConnectionError("SESSION_LOST", message, { cause });
}

/** The error frame of a server, or an error among the replies of a frame. */
export function toRemoteError({ code, message, ...details }: JsonObject): RemoteError {
  return new RemoteError(String(code), String(message), details);
}

export function protocolError(what: string): ConnectionError {
  return new ConnectionError("PROTOCOL_ERROR", `The server broke the OpenEnv protocol: ${what}.`);
}

/** Request Timeout and Too Many Requests. */
const BUSY = [408, 429];

/** Whether connecting to a server may succeed later: address, token and contract are not the problem. */
export function mayRecover(error: unknown): boolean {
  if (error instanceof ConnectionError) return error.code === "CONNECTION_FAILED" || error.code === "CLIENT_TIMEOUT";
  if (!(error instanceof RemoteError)) return false;
  const { status } = error.details;
  return typeof status === "number" && (status >= 500 || BUSY.includes(status));
}

/** Whether another server may open the session that this one did not open. */
export function isServerFailure({ code }: CallFailure): boolean {
  // All servers serve the same environment: a factory that fails here fails there.
  return !["ABORTED", "CLIENT_CLOSED", "CONTRACT_MISMATCH", "FACTORY_ERROR"].includes(code);
}

/** Whether another server may have a session where this one had none for a reset. */
export function isSessionMissing({ code }: CallFailure): boolean {
  return ["CAPACITY_REACHED", "CONNECTION_FAILED", "SESSION_LOST"].includes(code);
}
