import type { JsonObject } from "./messages.js";
import type { ForkRequest } from "./published.js";

/** A received frame, not yet validated. */
export interface ReceivedMessage {
  type: string;
  data: JsonObject;
  /** Present in the first answer when the server confirms extensions. */
  openenv?: { extensions: string[]; server?: string; session?: string };
  /** The number of the request in a resumable session; missing when the request had no valid one. */
  seq?: number;
  /** The number of the event that the request was, in a resumable session. */
  event?: number;
  /** The connection was lost during the request, and the session was resumed on another one. */
  recovered?: boolean;
}

/**
 * Connects one session of a client to its environment: over a socket or in process. Requests are answered in order.
 * `request` rejects with a ConnectionError after the session is lost.
 */
export interface Transport {
  readonly open: boolean;
  /** The code with which the server has closed the socket. */
  readonly closeCode?: number | undefined;
  /** The header by which the handshake named the session, as the balancer sent it. */
  readonly sessionHeader?: string | undefined;
  /** It resumes its session after a loss. */
  readonly resumes?: boolean;
  request(message: JsonObject): Promise<ReceivedMessage>;
  /** Cancels the request, which is then answered at once. False where the request cannot be cancelled. */
  cancel?(): boolean;
  /** Opens copies of the session, all or none; missing where the session cannot be copied. */
  fork?(request: ForkRequest): Promise<Transport[]>;
  close(): Promise<void>;
}
