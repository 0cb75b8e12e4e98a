import type { RolloutsPart } from "#core/server/parts/rollouts.js";
import { createRollouts as create } from "./plugin.js";

const part: RolloutsPart = { createRollouts: create };

export const { createRollouts } = part;
