import type { JsonObject } from "../protocol/messages.js";
import type { Rng } from "../util/rng.js";

/** What a policy receives to choose an action. */
export interface PolicyInput {
  /** Number of the episode, and of the step in it; both start at 0. */
  episode: number;
  step: number;
  /** The observation of the last reset or step. */
  observation: JsonObject;
  reward: number | null;
  metadata: JsonObject;
  /** JSON Schema of an action, as in `GET /schema`; with tools, `anyOf` has a call of each tool. */
  actionSchema: JsonObject;
  /** A random number generator, seeded by seed and episode. */
  random: Rng;
  /** Memory of the policy, empty at the start of an episode. */
  memory: Record<string, unknown>;
}

/** Chooses the next action; null stops the episode. */
export type Policy = (turn: PolicyInput) => JsonObject | null | Promise<JsonObject | null>;
