import { ConnectionError, RemoteError } from "../../errors.js";
import type { JsonObject } from "../../protocol/messages.js";
import type { CallOptions } from "../options.js";

/** Many sessions that are called together. */
export interface Lanes {
  /** The extensions that the server of the session at this index took up. */
  extensionsOf(index: number): readonly string[];
  /**
   * Calls each session that has data here, by its index; the others are left alone. Never rejects: what goes wrong is
   * the answer of the sessions it concerns.
   */
  call(method: LaneMethod, data: ReadonlyMap<number, JsonObject>, options: CallOptions): Promise<LaneAnswers>;
  close(): Promise<void>;
}

/** Many sessions that were opened together at one address. */
export interface OpenedLanes extends Lanes {
  /** True when the session at this index has no episode to go on with: it was refused, or its connection has ended. */
  isLost(index: number): boolean;
  /** Why the server has not opened the session at this index; undefined when it has, or says so with the first reset. */
  refusalOf(index: number): LaneFailure | undefined;
}

export type LaneMethod = "reset" | "step" | "state";

/** What each session that was asked has answered, by its index. */
export type LaneAnswers = Map<number, JsonObject | LaneFailure>;

export type LaneFailure = RemoteError | ConnectionError;

export function isFailure(value: unknown): value is LaneFailure {
  return value instanceof RemoteError || value instanceof ConnectionError;
}

/** Anything but a failure of server or connection is thrown on. */
export function asFailure(error: unknown): LaneFailure {
  if (isFailure(error)) return error;
  throw error;
}

/** The same failure for each of these sessions. */
export function failAll(indexes: Iterable<number>, failure: LaneFailure): Map<number, LaneFailure> {
  return new Map(Array.from(indexes, (index) => [index, failure]));
}
