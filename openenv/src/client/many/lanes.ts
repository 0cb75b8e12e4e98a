import type { ConnectionError, RemoteError } from "../../errors.js";
import type { JsonObject } from "../../protocol/messages.js";
import type { CallOptions } from "../options.js";

/** What one of many sessions answered; null when it was not asked. */
export type LaneAnswer = JsonObject | RemoteError | ConnectionError | null;

/** Many sessions that are called together. */
export interface Lanes {
  /** The extensions that the server took up. */
  readonly extensions: readonly string[];
  /**
   * Calls each session that has data here; the others are left alone. Never rejects: what goes wrong is the answer of
   * the sessions it concerns.
   */
  call(method: LaneMethod, data: readonly (JsonObject | null)[], options: CallOptions): Promise<LaneAnswer[]>;
  /** True when the session at this index has no episode to go on with: it was refused, or its connection has ended. */
  isLost(index: number): boolean;
  close(): Promise<void>;
}

export type LaneMethod = "reset" | "step" | "state";
