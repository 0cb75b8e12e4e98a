import { OpenEnvError } from "../../errors.js";
import { findEngine } from "../docker/connection.js";
import { EngineError } from "../docker/engine.js";
import { createDockerSweeper } from "../docker/sweep.js";
import { createKubernetesSweeper } from "../kubernetes/sweep.js";
import { createProcessSweeper } from "../process/sweep.js";
import { createCheckoutSweeper } from "../repository/unfinished.js";
import { createSlurmSweeper } from "../slurm/sweep.js";
import { createSwarmSweeper } from "../swarm/sweep.js";
import type { Leftover, Sweeper } from "./leftover.js";

export interface Leftovers {
  found: Leftover[];
  /** Why somebody could not be asked. */
  unasked: string[];
}

/** One for each place where providers start something. */
const SWEEPERS: readonly (() => Sweeper)[] = [
  createProcessSweeper,
  () => createCheckoutSweeper(),
  createSlurmSweeper,
  createKubernetesSweeper,
  () => createDockerSweeper(findEngine(process.env)),
  () => createSwarmSweeper(findEngine(process.env)),
];

/** All that any provider has started and that still runs, the oldest first: by its label or record, and nothing else. */
export async function findLeftovers(): Promise<Leftovers> {
  const unasked: string[] = [];
  const ask = async (create: () => Sweeper): Promise<Leftover[]> => {
    try {
      return await create().list();
    } catch (error) {
      // Nobody is there, is named wrongly or answers oddly: the others are asked all the same.
      if (!(error instanceof OpenEnvError || error instanceof EngineError)) throw error;
      const message = error instanceof EngineError ? `The container engine refused: ${error.message}` : error.message;
      if (!unasked.includes(message)) unasked.push(message);
      return [];
    }
  };
  const found = (await Promise.all(SWEEPERS.map(ask))).flat();
  return { found: found.sort((a, b) => (a.startedAt < b.startedAt ? -1 : 1)), unasked };
}
