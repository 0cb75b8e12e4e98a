import { ConnectionError, faultOfStatus, RemoteError } from "../errors.js";
import type { JsonObject } from "../protocol/messages.js";

/** Why a call has no result. */
export type CallFailure = RemoteError | ConnectionError;

export function isFailure(value: unknown): value is CallFailure {
  return value instanceof RemoteError || value instanceof ConnectionError;
}

/** Returns a failure of the server or the connection; throws any other error. */
export function asFailure(error: unknown): CallFailure {
  if (isFailure(error)) return error;
  throw error;
}

/** Returns the result of `work`, or the failure that it throws. */
export function attempt<T>(work: () => T): T | CallFailure {
  try {
    return work();
  } catch (error) {
    return asFailure(error);
  }
}

/** The error of all calls until a reset succeeds. */
export function sessionLost(cause: CallFailure): ConnectionError {
  if (cause instanceof ConnectionError && cause.code === "SESSION_LOST") return cause;
  const message = `The session was lost: ${cause.message} Call reset to start a new episode.`;
  return new ConnectionError("SESSION_LOST", message, { cause });
}

/** The error of a connection or a session that has ended. */
export function lostBecause(reason: string, cause?: RemoteError): ConnectionError {
  const message = `The session was lost: ${reason}. Call reset to start a new episode.`;
  return new ConnectionError("SESSION_LOST", message, cause && { cause });
}

/** The error for a server that cannot be reached, for HTTP and WebSocket alike. */
export function connectFailed(url: string, why: string, cause?: unknown): ConnectionError {
  return new ConnectionError("CONNECTION_FAILED", `Could not reach ${url}: ${why}. Is the server running?`, { cause });
}

export function connectAborted(signal: AbortSignal | undefined): ConnectionError {
  return new ConnectionError("ABORTED", "Connecting was aborted.", { cause: signal?.reason });
}

/** The error of a call that was aborted before it was sent. */
export function abortedBeforeSent(signal: AbortSignal | undefined): ConnectionError {
  const message = "The call was aborted before it was sent. The session is not affected.";
  return new ConnectionError("ABORTED", message, { cause: signal?.reason });
}

/** The error of every call of a client that was closed. `open` is the function that opens another. */
export function clientClosed(open: "connect" | "connectVector", cause?: unknown): ConnectionError {
  return new ConnectionError("CLIENT_CLOSED", `The client was closed; open a new one with ${open}().`, { cause });
}

/** Converts an error frame of a server, or an error among the replies of a batch frame. */
export function toRemoteError({ code, message, ...details }: JsonObject): RemoteError {
  return new RemoteError(String(code), String(message), details);
}

/** Does the same as {@link toRemoteError}, but SESSION_LOST is a loss, as if the socket had closed. */
export function toCallFailure(data: JsonObject): CallFailure {
  const error = toRemoteError(data);
  return error.wireCode === "SESSION_LOST" ? lostBecause(error.message.replace(/\.$/, ""), error) : error;
}

export function protocolError(what: string): ConnectionError {
  return new ConnectionError("PROTOCOL_ERROR", `The server violated the OpenEnv protocol: ${what}.`);
}

/** True when a later attempt to connect can succeed: the address, the token and the contract are not the cause. */
export function mayRecover(error: unknown): boolean {
  if (error instanceof ConnectionError) return error.code === "CONNECTION_FAILED" || error.code === "CLIENT_TIMEOUT";
  if (!(error instanceof RemoteError)) return false;
  const { status } = error.details;
  return typeof status === "number" && (status >= 500 || faultOfStatus(status) === "infrastructure");
}

/** True when another server may be able to open the session. */
export function isServerFailure({ code }: CallFailure): boolean {
  // All servers serve the same environment: a factory that fails on one fails on all.
  return !["ABORTED", "CLIENT_CLOSED", "CONTRACT_MISMATCH", "FACTORY_ERROR"].includes(code);
}

/** True when a failed reset may succeed on another server. */
export function isSessionMissing({ code, cause }: CallFailure): boolean {
  // The environment has lost the session in the reset itself: another one may do the same.
  if (cause instanceof RemoteError && cause.wireCode === "SESSION_LOST") return false;
  return ["CAPACITY_REACHED", "CONNECTION_FAILED", "SESSION_LOST"].includes(code);
}
