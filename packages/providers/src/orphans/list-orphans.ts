import { OpenEnvError } from "openenv-ts";
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
  /** The reasons of the sources that could not be searched. */
  unasked: string[];
}

/** One finder for each place where providers start something. */
const FINDERS: readonly (() => OrphanFinder)[] = [
  createProcessOrphanFinder,
  () => createCheckoutOrphanFinder(),
  createSlurmOrphanFinder,
  createKubernetesOrphanFinder,
  () => createDockerOrphanFinder(findEngine(process.env)),
  () => createSwarmOrphanFinder(findEngine(process.env)),
];

/**
 * Lists everything that any provider has started and that still runs, oldest first. It is found by its label or record.
 */
export async function listOrphans(): Promise<OrphanList> {
  const unasked: string[] = [];
  const ask = async (create: () => OrphanFinder): Promise<Orphan[]> => {
    try {
      return await create().list();
    } catch (error) {
      // Missing, misconfigured or failing sources do not stop the search of the others.
      if (!(error instanceof OpenEnvError || error instanceof EngineError)) throw error;
      const message =
        error instanceof EngineError ? `The container engine returned an error: ${error.message}` : error.message;
      if (!unasked.includes(message)) unasked.push(message);
      return [];
    }
  };
  const found = (await Promise.all(FINDERS.map(ask))).flat();
  return { found: found.sort((a, b) => (a.startedAt < b.startedAt ? -1 : 1)), unasked };
}
