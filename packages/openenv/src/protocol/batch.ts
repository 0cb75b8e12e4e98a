import type { JsonObject, ServerMessage } from "./messages.js";

/** Maximum number of items in one frame, and of sessions that one frame opens. */
export const MAX_BATCH_ITEMS = 1024;

/** Frames of the extension `batch`. The server assigns each session an integer that is valid on this socket. */
export type BatchMessage =
  | { type: "open_many"; data: { count: number } }
  | { type: BatchMethod; data: { items: unknown[] } };

export const BATCH_METHODS = {
  reset_many: "reset",
  step_many: "step",
  state_many: "state",
  close_many: "close",
  fork_many: "fork",
} as const;
export type BatchMethod = keyof typeof BATCH_METHODS;

/** One valid item of a frame: `data` is the same as in a frame of a socket with one session. */
export interface BatchItem {
  session: number;
  data?: JsonObject;
}

/** The reply to one item: the answer of a socket with one session, or that a session was opened or closed. */
export type BatchReply =
  | ServerMessage
  | { type: "opened"; data: { session: number } }
  | { type: "closed"; data: Record<string, never> }
  | { type: "forked"; data: { event: number; sessions: number[] } };

/** The answer to a frame of the extension: one reply for each item, in order. */
export interface ManyMessage {
  type: "many";
  data: { items: BatchReply[] };
}
