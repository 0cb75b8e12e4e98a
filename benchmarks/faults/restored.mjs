import { join } from "node:path";
import { hasPython, PYTHON_KILLED, TYPESCRIPT } from "./disturbed/clients.mjs";
import { playDisturbed } from "./disturbed/disturbed.mjs";
import { killServers } from "./disturbed/processes.mjs";

export const title = "faults, killed workers and killed servers, with a journal in a file";

const STORES = [
  { id: "restored", store: "LMDB", file: "sessions.lmdb" },
  { id: "restored-sqlite", store: "SQLite", file: "sessions.db" },
];

export const run = async (bench) => {
  const rows = [];
  const clients = hasPython(bench) ? [TYPESCRIPT, PYTHON_KILLED] : [TYPESCRIPT];
  for (const [{ id, store, file }, kind] of STORES.flatMap((one) => clients.map((kind) => [one, kind]))) {
    const played = playDisturbed({
      ...kind,
      id: `${id}-${kind.id}`,
      who: `${kind.who}, journal in a file of ${store}`,
      faults: Math.ceil(bench.faults / 4),
      seed: bench.seed,
      quick: bench.quick,
      startJournal: async (folder) => ({ url: join(folder, file), close() {} }),
      interruptions: killServers,
    });
    rows.push(...(await played));
  }
  return rows;
};
