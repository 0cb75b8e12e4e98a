import type { JsonObject } from "openenv-ts/protocol";

/** A copy of a session, which waits for its first connection. */
export interface SessionCopy {
  session_id: string;
  token: string;
}

/** A session that outlives its sockets, and the page. All of its sockets change the same object. */
export interface PageSession extends SessionCopy {
  /** The last request that was answered. */
  ack: number;
  /** The number of the last connection that has resumed it. */
  attempt: number;
  /** The type of the request without an answer. */
  pending?: unknown;
  /** Nothing repeats the pending request: its page is gone. */
  skips?: boolean;
}

/** A session that has no id before its first answer. Undefined where the browser computes no hash: not over plain HTTP. */
export function newSession(): PageSession | undefined {
  if (globalThis.crypto.subtle === undefined) return undefined;
  const token = Array.from(crypto.getRandomValues(new Uint8Array(24)), toHex).join("");
  return { session_id: "", token, ack: 0, attempt: 0 };
}

/** The first frame of a socket: makes a new session resumable, or proves that this page may have the session. */
export async function introduce(kept: PageSession): Promise<JsonObject> {
  if (kept.session_id !== "") return { token: kept.token, attempt: ++kept.attempt };
  const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(kept.token));
  return { token_hash: Array.from(new Uint8Array(hash), toHex).join("") };
}

function toHex(byte: number): string {
  return byte.toString(16).padStart(2, "0");
}
