import { join } from "node:path";
import { hasPython, PYTHON_KILLED, TYPESCRIPT } from "./disturbed/clients.mjs";
import { playDisturbed } from "./disturbed/disturbed.mjs";
import { killServers } from "./disturbed/processes.mjs";

export const title = "faults, killed workers and killed servers, with a journal in a file";

export const run = async (bench) => {
  const rows = [];
  for (const clients of hasPython(bench) ? [TYPESCRIPT, PYTHON_KILLED] : [TYPESCRIPT]) {
    const played = playDisturbed({
      ...clients,
      id: `restored-${clients.id}`,
      who: `${clients.who}, journal in a file`,
      faults: Math.ceil(bench.faults / 4),
      seed: bench.seed,
      quick: bench.quick,
      startJournal: async (folder) => ({ url: join(folder, "sessions.lmdb"), close() {} }),
      interruptions: killServers,
    });
    rows.push(...(await played));
  }
  return rows;
};
