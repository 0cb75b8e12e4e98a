/**
 * `npm run bench -- study`: how environments scale, in rows of minutes to half an hour, all at one commit. A row that has been
 * measured at the present commit of the sources is not measured again, so the study continues where it was stopped.
 * Options: --list (what is done, left and missing), --only grid/node,messages (that row, or else rows that begin so),
 * --hours 2 (starts no row that would end later), --quick (small rows, into a temporary folder), --output-dir <folder>,
 * --add <folder> (adds the parts that another machine has written there), --plan <file>, --base <image with node>,
 * --build-base <image with npm>.
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { sourceCommit } from "../harness/commit.mjs";
import { findPython } from "../harness/servers.mjs";
import {
  BASES,
  baseArguments,
  buildImage,
  createEnvironmentFolder,
  removeImage,
} from "../images/environment-folder.mjs";
import { PARTS } from "./parts.mjs";
import { planProgress, readProgress, renderList, saveRow } from "./progress.mjs";
import { writeReport } from "./report.mjs";
import { chooseRows, listRows } from "./rows.mjs";

const HERE = import.meta.dirname;
const TAG = `openenv-bench-study:${process.pid}`;

const { values: options } = parseArgs({
  options: {
    ...{ quick: { type: "boolean", default: false }, list: { type: "boolean" }, only: { type: "string" } },
    ...{
      hours: { type: "string" },
      "output-dir": { type: "string" },
      add: { type: "string" },
      plan: { type: "string" },
      ...BASES,
    },
  },
});
const plan = JSON.parse(readFileSync(options.plan ?? join(HERE, "study.json"), "utf8"));
/** A quick row is never one of the study. */
const commit = options.quick ? `${sourceCommit()}, quick` : sourceCommit();
const places = choosePlaces();
const work = mkdtempSync(join(tmpdir(), "openenv-study-"));
let image;

const all = listRows(plan, { quick: options.quick, dir: places.dir, image: () => (image ??= build()) });
const rows = chooseRows(all, options.only);
const now = () => planProgress(rows, { progress: readProgress(places.dir), commit });

try {
  if (options.list) process.stdout.write(`${renderList(now())}\n`);
  else if (options.add !== undefined) await addParts(readProgress(options.add));
  else await measureAll();
} finally {
  rmSync(work, { recursive: true, force: true });
  if (image !== undefined) await removeImage(TAG);
}

async function measureAll() {
  if (commit.endsWith("+") && !options.quick) {
    throw new Error("packages/*/src has changes without a commit: commit them, so that the study is of one commit.");
  }
  const until = Date.now() + Number(options.hours ?? Infinity) * 3_600_000;
  const versions = findVersions();
  for (const { id, minutes, measure } of now().left) {
    if (Date.now() + minutes * 60_000 > until) continue;
    process.stderr.write(`${id}\n`);
    const began = Date.now();
    try {
      const measured = await measure();
      if (!options.quick && sourceCommit() !== commit) throw new Error("the sources have changed meanwhile");
      const took = Number(((Date.now() - began) / 60_000).toFixed(1));
      const machine = `${cpus().length} × ${cpus()[0]?.model ?? "unknown processor"}, ${process.platform} ${process.arch}`;
      const date = new Date(began).toISOString().slice(0, 10);
      saveRow(places.dir, id, { commit, date, minutes: took, machine, node: process.version, versions, ...measured });
    } catch (error) {
      process.stderr.write(`${id} failed: ${error.stack}\n`);
      process.exitCode = 1;
    }
  }
  await finish();
}

/** The bursts of the grid stay those of one machine. */
async function addParts(measured) {
  for (const [id, facts] of Object.entries(measured)) {
    if (!(id in PARTS)) throw new Error(`${id} is not a part: the grid is measured on one machine.`);
    if (facts.commit !== commit)
      throw new Error(`${id} is of ${facts.commit}, the study of ${commit}: measure it again.`);
    saveRow(places.dir, id, facts);
  }
  await finish();
}

async function finish() {
  const progress = planProgress(all, { progress: readProgress(places.dir), commit });
  const { waits } = options.quick ? plan.quick : plan.grid;
  await writeReport(plan, { waits, places, progress });
  process.stderr.write(`${renderList(progress)}\n${places.report}\n`);
}

/** Where the rows, the report and its CSV are written. */
function choosePlaces() {
  const { quick, "output-dir": output } = options;
  const dir = output ?? (quick ? mkdtempSync(join(tmpdir(), "openenv-study-")) : undefined);
  if (dir !== undefined) return { dir, report: join(dir, "STUDY.md"), csv: join(dir, "study.csv") };
  const results = join(HERE, "../results");
  return { dir: join(results, "study"), report: join(HERE, "../reports/STUDY.md"), csv: join(results, "study.csv") };
}

async function build() {
  const dir = await createEnvironmentFolder(work, "benchmark");
  await buildImage(dir, TAG, baseArguments(options));
  return TAG;
}

/** The versions of what is measured with this package, as far as it is installed. */
function findVersions() {
  const first = (command, ...args) => {
    try {
      const env = { ...process.env, PATH: `${process.env.PATH}:/usr/sbin` };
      const output = execFileSync(command, args, { env, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
      return /\d+\.\d+\.\d+/.exec(output)?.[0];
    } catch {
      return undefined;
    }
  };
  const { OPENENV_ENVOY: envoy } = process.env;
  return {
    ...findPython().versions,
    haproxy: first("haproxy", "-v"),
    envoy: envoy && first(envoy, "--version"),
    docker: first("docker", "--version"),
  };
}
