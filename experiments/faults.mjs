/**
 * `npm run bench:faults`: faults between clients and server, the time to continue after a cut, workers that are killed
 * under load, and a steady load over a long time, all on real processes. Options: see suite.mjs; --faults 12000, --seed 1,
 * --kills 1000, --soak-minutes 15.
 */
import * as faults from "./cases/faults.mjs";
import * as kills from "./cases/kills.mjs";
import * as recovery from "./cases/recovery.mjs";
import * as restart from "./cases/restart.mjs";
import * as restored from "./cases/restored.mjs";
import * as soak from "./cases/soak.mjs";
import { runSuite } from "./suite.mjs";

await runSuite({
  title: "Effects of failures",
  command: "npm run bench:faults",
  report: "FAULTS.md",
  csv: "faults.csv",
  experiments: { faults, restored, recovery, restart, kills, soak },
  options: {
    faults: { type: "string" },
    seed: { type: "string" },
    kills: { type: "string" },
    "soak-minutes": { type: "string" },
  },
  createBench: ({ quick, faults, seed, kills, "soak-minutes": minutes }) => ({
    subjects: ["measured"],
    quick,
    faults: wholeNumber("--faults", faults ?? (quick ? "500" : "12000")),
    seed: wholeNumber("--seed", seed ?? "1"),
    kills: wholeNumber("--kills", kills ?? (quick ? "30" : "1000")),
    minutes: wholeNumber("--soak-minutes", minutes ?? (quick ? "1" : "15")),
    close() {},
  }),
  notes: ({ seed }) => [
    "Faults: `openenv serve --workers 2`, 64 clients of `connect` (half of them with MessagePack), 8 sockets with 12 sessions " +
      "each and 16 sessions with own sockets, all with `resume`, through a proxy that disturbs each connection again and " +
      `again (seed ${seed}). Each environment writes its calls to a file; afterwards every session is played once more ` +
      "without faults and without `resume`, and each answer is compared.",
    "With a journal: the same without sockets of many sessions; every 3 s a worker is killed, and the others restore its sessions " +
      "from a file. A call that runs when its worker is killed may be executed again, and its answer must be the same.",
    "Time to continue: from the call after the cut to its answer, 256 sessions through the proxy, one of them cut every 10 ms.",
    "Restart: `openenv serve --workers 2 --journal` with 2,000 sessions; all processes get SIGKILL, a server is started at the " +
      "same port, and every session makes its next step.",
    "Kills: `openenv serve --workers 3`, 32 sockets that play whole sessions all the time; each kill is SIGKILL to a " +
      "worker that has just responded. Every response is checked; a lost session must belong to a killed worker.",
    "Soak: `openenv serve --workers 2`, sessions that step with pauses and others that come and go; memory is the resident " +
      "set of supervisor and workers, sampled every two seconds, the minimum of each minute, without forced garbage collection.",
  ],
});

function wholeNumber(name, text) {
  if (/^[1-9]\d*$/.test(text)) return Number(text);
  process.stderr.write(`${name} must be a positive integer\n`);
  process.exit(2);
}
