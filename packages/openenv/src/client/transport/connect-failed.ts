import { ConnectionError } from "../../errors.js";

/** The error for a server that cannot be reached, for HTTP and WebSocket alike. */
export function connectFailed(url: string, why: string, cause?: unknown): ConnectionError {
  return new ConnectionError("CONNECTION_FAILED", `Could not reach ${url}: ${why}. Is the server running?`, { cause });
}
