import type { JsonObject, ServerMessage } from "../../protocol/messages.js";
import type { ToolOutcome } from "../../protocol/tools.js";
import type { RngState } from "../../util/rng.js";
import type { PackedError } from "../packed-error.js";

/** A reset, step or tool call that reached the environment. Plain data. */
export interface SessionEvent {
  /** Its number in the session, from 1. */
  event: number;
  type: "reset" | "step" | "tool";
  /** The data of the reset with its episode id, the action, or `name` and `arguments` of the tool call. */
  request: JsonObject;
  /** The answer without what an extension added for one client. */
  answer: ServerMessage | ToolOutcome;
  recorded: Recorded;
}

/** What the environment got from outside during an event. */
export interface Recorded {
  /** The seed of the random numbers, in the first event of an episode. */
  seed?: number;
  /** The results of `now()`, in milliseconds. */
  times?: number[];
  /** The results of `record()`, in the order of its calls. */
  effects?: RecordedEffect[];
}

export type RecordedEffect = { name: string; value: unknown } | { name: string; error: PackedError };

/** The progress of a session. */
export interface Progress {
  episodeId: string | null;
  stepCount: number;
  /** Number of episodes, and of steps in those before this one. */
  episodes: number;
  earlierSteps: number;
  /** The episode has ended. */
  done: boolean;
  /** The sum of the rewards in this episode. */
  reward: number;
  /** Steps of this episode that failed through no fault of the agent. */
  failedSteps: number;
  /** The creator of the session has chosen that tool calls of agents are steps. */
  callsAreSteps: boolean;
}

/** A session between two calls, from which it continues in another instance. Plain data. */
export interface SessionImage extends Progress {
  /** The hash of the contract. */
  contract: string;
  snapshotVersion: number;
  /** The number of the last event. */
  event: number;
  /** `state` is null until the environment has used the random numbers. */
  rng: { seed: number; state: RngState | null };
  restore: SavedState | { events: SessionEvent[] };
}

export type ImageMessage = { type: "image"; data: SessionImage };

/** What an environment saved, as its own `SavedEnvironment` with the snapshot as JSON or bytes. Never changed. */
export interface SavedState {
  snapshot: string | Uint8Array;
  more?: JsonObject | undefined;
}

/** The way in which a session can be restored, or why it cannot. */
export type RestoreTier = { tier: "snapshot" } | { tier: "replay" } | { tier: "none"; reason: string };
