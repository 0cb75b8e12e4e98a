/**
 * `npm run bench:faults`: workers that are killed under load, and a steady load for a long time; both on real processes.
 * Options: --kills 1000, --soak-minutes 15 (0 leaves either out), --write (FAULTS.md and results/faults.csv).
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { parseArgs } from "node:util";
import { renderCsv, renderReport } from "openenv-ts/bench";
import * as kills from "./experiments/kills.mjs";
import * as soak from "./experiments/soak.mjs";

const { values: options } = parseArgs({
  options: {
    kills: { type: "string", default: "1000" },
    "soak-minutes": { type: "string", default: "15" },
    write: { type: "boolean", default: false },
  },
});
const plan = { kills: Number(options.kills), minutes: Number(options["soak-minutes"]) };
const invalid = Object.entries(plan).find(([, value]) => !Number.isInteger(value) || value < 0);
if (invalid) throw new Error("--kills and --soak-minutes are whole numbers from 0 on");

const rows = [];
for (const [count, { title, run }] of [
  [plan.kills, kills],
  [plan.minutes, soak],
]) {
  if (count === 0) continue;
  process.stderr.write(`${title}\n`);
  rows.push(...(await run(plan)));
}
const text = renderReport({
  title: "What failures leave behind",
  facts: {
    date: new Date().toISOString().slice(0, 10),
    command: `\`npm run bench:faults -- ${process.argv.slice(2).join(" ")}\``,
    node: process.version,
    machine: `${cpus().length} × ${cpus()[0]?.model ?? "unknown processor"}, ${process.platform} ${process.arch}, shared`,
  },
  subjects: ["measured"],
  rows,
  notes: [
    "Kills: `openenv serve --workers 3`, 32 sockets that play whole sessions all the time; each kill is SIGKILL to a " +
      "worker that has just answered. Every answer is checked; a session that is lost must be one of a killed worker.",
    "Soak: `openenv serve --workers 2`, sessions that step with pauses and others that come and go; memory is the resident " +
      "set of supervisor and workers at the end of each minute, nothing is collected by force.",
  ],
});
process.stdout.write(text);
if (options.write) {
  mkdirSync(new URL("results/", import.meta.url), { recursive: true });
  writeFileSync(new URL("FAULTS.md", import.meta.url), text);
  writeFileSync(new URL("results/faults.csv", import.meta.url), renderCsv(rows));
}
