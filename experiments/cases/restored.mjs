import { join } from "node:path";
import { crewsOf } from "../faults/crews.mjs";
import { playDisturbed } from "../faults/disturbed.mjs";
import { killServers } from "../faults/processes.mjs";
import { CREWS } from "./faults.mjs";

export const title = "faults, killed workers and killed servers, with a journal in a file";

export const run = ({ faults, seed }) =>
  playDisturbed({
    ...{ id: "restored", who: "TypeScript clients, journal in a file", clients: crewsOf(CREWS), seed },
    faults: Math.ceil(faults / 4),
    startJournal: async (folder) => ({ url: join(folder, "sessions.lmdb"), close() {} }),
    interruptions: killServers,
  });
