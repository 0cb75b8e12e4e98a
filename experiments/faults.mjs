/**
 * `npm run bench:faults`: workers that are killed under load, and a steady load for a long time; both on real processes.
 * Options: see suite.mjs; --kills 1000, --soak-minutes 15.
 */
import * as kills from "./cases/kills.mjs";
import * as soak from "./cases/soak.mjs";
import { runSuite } from "./suite.mjs";

await runSuite({
  title: "What failures leave behind",
  command: "npm run bench:faults",
  report: "FAULTS.md",
  csv: "faults.csv",
  experiments: { kills, soak },
  options: { kills: { type: "string" }, "soak-minutes": { type: "string" } },
  createBench: ({ quick, kills, "soak-minutes": minutes }) => ({
    subjects: ["measured"],
    kills: wholeNumber("--kills", kills ?? (quick ? "30" : "1000")),
    minutes: wholeNumber("--soak-minutes", minutes ?? (quick ? "1" : "15")),
    close() {},
  }),
  notes: () => [
    "Kills: `openenv serve --workers 3`, 32 sockets that play whole sessions all the time; each kill is SIGKILL to a " +
      "worker that has just answered. Every answer is checked; a session that is lost must be one of a killed worker.",
    "Soak: `openenv serve --workers 2`, sessions that step with pauses and others that come and go; memory is the resident " +
      "set of supervisor and workers, looked at every two seconds, the least of each minute; nothing is collected by force.",
  ],
});

function wholeNumber(name, text) {
  if (/^[1-9]\d*$/.test(text)) return Number(text);
  process.stderr.write(`${name} is a whole number from 1 on\n`);
  process.exit(2);
}
