import { setTimeout as sleep } from "node:timers/promises";
import type { Orphan, OrphanFinder } from "../orphans/orphan.js";
import type { EngineAddress } from "./connection.js";
import { createEngine, type Engine, EngineError } from "./engine.js";
import { MARK, readLabels } from "./labels.js";

/** Who only looks what is left does not wait for an engine that is stuck. */
export const LOOK_MS = 10_000;

/** Finds the containers and networks of an engine that carry our label, whoever started them. */
export function createDockerOrphanFinder(address: EngineAddress): OrphanFinder {
  const engine = createEngine(address);
  return {
    async list() {
      const filters = JSON.stringify({ label: [MARK, "openenv.provider=docker"] });
      const [containers, networks] = await Promise.all([
        engine.ask<Listed[]>("GET", "/containers/json", { query: { all: "1", filters }, timeoutMs: LOOK_MS }),
        engine.ask<Listed[]>("GET", "/networks", { query: { filters }, timeoutMs: LOOK_MS }),
      ]);
      return [
        ...containers.map((found) => describe(engine, found, removeContainer)),
        ...networks.map((found) => describe(engine, found, removeNetwork)),
      ];
    },
  };
}

/** Ends and removes a container, with the volumes that it made for itself; nothing happens when it is gone. */
export async function removeContainer(engine: Engine, container: string): Promise<void> {
  try {
    await engine.ask("DELETE", `/containers/${container}`, { query: { force: "1", v: "1" } });
  } catch (error) {
    // 409: somebody else is removing it right now.
    if (!(error instanceof EngineError && (error.status === 404 || error.status === 409))) throw error;
  }
}

const IN_USE = 403;
const POLL_MS = 200;

/** Its containers may be on their way out. */
async function removeNetwork(engine: Engine, network: string): Promise<void> {
  for (const deadline = Date.now() + LOOK_MS; ; await sleep(POLL_MS)) {
    try {
      await engine.ask("DELETE", `/networks/${network}`);
      return;
    } catch (error) {
      if (!(error instanceof EngineError)) throw error;
      if (error.status === 404) return;
      if (error.status !== IN_USE || Date.now() > deadline) throw error;
    }
  }
}

interface Listed {
  Id: string;
  Labels: Record<string, string>;
  Ports?: { IP?: string; PublicPort?: number }[];
}

function describe(
  engine: Engine,
  { Id: id, Labels: labels, Ports: ports = [] }: Listed,
  remove: (engine: Engine, id: string) => Promise<void>,
): Orphan {
  const published = ports.find(({ PublicPort: port }) => port !== undefined);
  return {
    id: id.slice(0, 12),
    url: published && `http://${published.IP}:${published.PublicPort}`,
    ...readLabels(labels),
    remove: () => remove(engine, id),
  };
}
