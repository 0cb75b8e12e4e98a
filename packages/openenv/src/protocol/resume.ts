/**
 * The answer to the first frame on a socket with the extension `resume`. A client that begins sends
 * `{ type: "resume", data: { token_hash } }`, one that returns to its session (`session_id` in the query)
 * `{ type: "resume", data: { token } }`. After `recovered: false` for a session that was named, the server closes.
 */
export interface ResumedMessage {
  type: "resumed";
  data: {
    session_id: string;
    /** False for a new session, and for one that cannot be resumed, with the `reason`. */
    recovered: boolean;
    reason?: string;
    /** The last request that was executed; 0 for none. */
    last_seq: number;
    /** Seconds that the session is kept without a connection while there is room. */
    window_s: number;
    /** How many answers may be without `ack`. */
    max_unacknowledged: number;
  };
}

/** SHA-256, hexadecimal, of a token. */
export async function hashToken(token: string): Promise<string> {
  const digest = new Uint8Array(await globalThis.crypto.subtle.digest("SHA-256", new TextEncoder().encode(token)));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
