import type { RolloutsPart } from "#core/server/parts/rollouts.js";
import { openArchive as open } from "./archive.js";
import { createRollouts as create } from "./plugin.js";

const part: RolloutsPart = { createRollouts: create, openArchive: open };

export const { createRollouts, openArchive } = part;
