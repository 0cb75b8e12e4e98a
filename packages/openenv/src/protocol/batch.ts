import type { JsonObject, ServerMessage } from "./messages.js";

/** Most items of one frame, and most sessions that one frame opens. */
export const MAX_BATCH_ITEMS = 1024;

/** Frames of the extension `batch`. Sessions are named by whole numbers that the server gives, good on this socket. */
export type BatchMessage =
  | { type: "open_many"; data: { count: number } }
  | { type: BatchMethod; data: { items: unknown[] } };

export const BATCH_METHODS = {
  reset_many: "reset",
  step_many: "step",
  state_many: "state",
  close_many: "close",
} as const;
export type BatchMethod = keyof typeof BATCH_METHODS;

/** One item of a frame, when it is right: `data` is that of a frame of a socket of its own. */
export interface BatchItem {
  session: number;
  data?: JsonObject;
}

/** What one item is answered: what a socket of its own would be, or that a session was opened or closed. */
export type BatchReply =
  | ServerMessage
  | { type: "opened"; data: { session: number } }
  | { type: "closed"; data: Record<string, never> };

/** The answer to each frame of the extension: as many replies as there were items, in their order. */
export interface ManyMessage {
  type: "many";
  data: { items: BatchReply[] };
}
