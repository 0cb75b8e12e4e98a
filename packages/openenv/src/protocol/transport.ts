import type { JsonObject } from "./messages.js";

/** A frame as it arrived, not yet trusted. */
export interface ReceivedMessage {
  type: string;
  data: JsonObject;
  /** Present in the first answer of a server that took up extensions. */
  openenv?: { extensions: string[] };
}

/**
 * One session's way to its environment: a socket, or a call in process. Requests are answered in order.
 * `request` rejects with a ConnectionError once the session behind it is gone.
 */
export interface Transport {
  readonly open: boolean;
  request(message: JsonObject): Promise<ReceivedMessage>;
  close(): Promise<void>;
}
