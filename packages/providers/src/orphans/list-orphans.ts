import { OpenEnvError } from "openenv-ts/internal";
import { findEngine } from "../docker/connection.js";
import { EngineError } from "../docker/engine.js";
import { createDockerOrphanFinder } from "../docker/orphans.js";
import { createKubernetesOrphanFinder } from "../kubernetes/orphans.js";
import { createProcessOrphanFinder } from "../process/orphans.js";
import { createCheckoutOrphanFinder } from "../repository/unfinished.js";
import { createSlurmOrphanFinder } from "../slurm/orphans.js";
import { createSwarmOrphanFinder } from "../swarm/orphans.js";
import type { Orphan, OrphanFinder } from "./orphan.js";

export interface OrphanList {
  found: Orphan[];
  /** Why somebody could not be asked. */
  unasked: string[];
}

/** One for each place where providers start something. */
const FINDERS: readonly (() => OrphanFinder)[] = [
  createProcessOrphanFinder,
  () => createCheckoutOrphanFinder(),
  createSlurmOrphanFinder,
  createKubernetesOrphanFinder,
  () => createDockerOrphanFinder(findEngine(process.env)),
  () => createSwarmOrphanFinder(findEngine(process.env)),
];

/** All that any provider has started and that still runs, the oldest first: by its label or record, and nothing else. */
export async function listOrphans(): Promise<OrphanList> {
  const unasked: string[] = [];
  const ask = async (create: () => OrphanFinder): Promise<Orphan[]> => {
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
  const found = (await Promise.all(FINDERS.map(ask))).flat();
  return { found: found.sort((a, b) => (a.startedAt < b.startedAt ? -1 : 1)), unasked };
}
