import type { Leftover, Sweeper } from "../leftover.js";
import type { EngineAddress } from "./connection.js";
import { createEngine, type Engine, EngineError } from "./engine.js";
import { MARK, readLabels } from "./labels.js";

/** Finds the containers of an engine that carry our label, whoever started them. */
export function createDockerSweeper(address: EngineAddress): Sweeper {
  const engine = createEngine(address);
  return {
    async list() {
      const query = { all: "1", filters: JSON.stringify({ label: [MARK, "openenv.provider=docker"] }) };
      const found = await engine.ask<Listed[]>("GET", "/containers/json", { query });
      return found.map((container) => describe(engine, container));
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

interface Listed {
  Id: string;
  Labels: Record<string, string>;
  Ports?: { IP?: string; PublicPort?: number }[];
}

function describe(engine: Engine, { Id: id, Labels: labels, Ports: ports = [] }: Listed): Leftover {
  const published = ports.find(({ PublicPort: port }) => port !== undefined);
  return {
    id: id.slice(0, 12),
    url: published && `http://${published.IP}:${published.PublicPort}`,
    ...readLabels(labels),
    remove: () => removeContainer(engine, id),
  };
}
