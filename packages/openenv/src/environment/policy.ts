import type { JsonObject } from "../protocol/messages.js";
import type { Rng } from "../util/rng.js";

/** What a policy knows when it is asked for an action. */
export interface PolicyInput {
  /** Number of the episode, and of the step in it; both from 0 on. */
  episode: number;
  step: number;
  /** What the last reset or step gave. */
  observation: JsonObject;
  reward: number | null;
  metadata: JsonObject;
  /** JSON Schema of an action, as `GET /schema` shows it; where there are tools, `anyOf` has a call of each of them. */
  actionSchema: JsonObject;
  /** The same numbers for the same seed and episode. */
  random: Rng;
  /** The policy's own, empty at the start of an episode. */
  memory: Record<string, unknown>;
}

/** Chooses the next action; null gives the episode up. */
export type Policy = (turn: PolicyInput) => JsonObject | null | Promise<JsonObject | null>;
