import { ConnectionError } from "../../errors.js";

/** Nobody answered at this URL, or not in time: what every way to a server says then. */
export function connectFailed(url: string, why: string, cause?: unknown): ConnectionError {
  return new ConnectionError("CONNECTION_FAILED", `No answer from ${url}: ${why}. Does the server run?`, { cause });
}
