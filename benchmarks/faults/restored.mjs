import { join } from "node:path";
import { hasPython, PYTHON_KILLED, TYPESCRIPT } from "./disturbed/clients.mjs";
import { playDisturbed } from "./disturbed/disturbed.mjs";
import { killServers } from "./disturbed/processes.mjs";

export const title = "faults, killed workers and killed servers, with a journal in a file";

export const run = async (bench) => {
  const rows = [];
  const clients = hasPython(bench) ? [TYPESCRIPT, PYTHON_KILLED] : [TYPESCRIPT];
  for (const kind of clients) {
    const played = playDisturbed({
      ...kind,
      id: `restored-${kind.id}`,
      who: `${kind.who}, journal in a file`,
      faults: Math.ceil(bench.faults / 4),
      seed: bench.seed,
      quick: bench.quick,
      startJournal: async (folder) => ({ url: join(folder, "sessions.db"), close() {} }),
      interruptions: killServers,
    });
    rows.push(...(await played));
  }
  return rows;
};
