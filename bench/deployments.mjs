/**
 * `npm run bench:deployments`: the experiments of experiments/deployments.json, each set-up in turn with the machine to
 * itself, measured by `openenv bench`. Tables and pictures go to results/deployments/, DEPLOYMENTS.md puts them beside
 * the study that is the model of the experiments.
 * Options: --quick, --only local-node,hf-like, --build-base <image with npm>.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { parseArgs } from "node:util";
import { readResults } from "openenv-ts/bench";
import { startBalancer } from "./deployments/balancer.mjs";
import { renderDeployments } from "./deployments/report.mjs";
import { findMissing, START } from "./deployments/servers.mjs";
import { buildImage, createEnvironmentFolder, removeImage } from "./environment-folder.mjs";
import { CLI } from "./fleets.mjs";

const HERE = import.meta.dirname;
const RESULTS = join(HERE, "results/deployments");
const TAG = `openenv-bench-deployments:${process.pid}`;

const { values: options } = parseArgs({
  options: { quick: { type: "boolean" }, only: { type: "string" }, "build-base": { type: "string" } },
});
const plan = JSON.parse(readFileSync(join(HERE, "experiments/deployments.json"), "utf8"));
const only = options.only?.split(",") ?? Object.keys(plan.subjects);
const unknown = only.find((name) => !(name in plan.subjects));
if (unknown) throw new Error(`no set-up "${unknown}": ${Object.keys(plan.subjects).join(", ")}`);

const measured = only.filter((name) => {
  const missing = findMissing(plan.subjects[name]);
  if (missing) process.stderr.write(`${name}: not measured, ${missing}\n`);
  return !missing;
});
const dirs = Object.keys(plan.subjects).map((name) => join(RESULTS, name));
// What is not measured again must be readable beside it: better found out now than at the end.
readResults(dirs.filter((dir) => existsSync(dir) && !measured.includes(basename(dir))));

const work = mkdtempSync(join(tmpdir(), "openenv-deployments-"));
try {
  const image = measured.some((name) => plan.subjects[name].start === "docker") ? await build() : undefined;
  for (const name of measured) await measure(name, image);
  await run([CLI, "bench", "report", ...dirs.filter(existsSync), "--output-dir", RESULTS]);
  writeFileSync(join(HERE, "DEPLOYMENTS.md"), renderDeployments(plan, RESULTS));
} finally {
  rmSync(work, { recursive: true, force: true });
  await removeImage(TAG);
}

async function build() {
  const dir = await createEnvironmentFolder(work, "benchmark");
  const base = options["build-base"];
  await buildImage(dir, TAG, base === undefined ? [] : ["--build-arg", `BUILD_BASE=${base}`]);
  return TAG;
}

async function measure(name, image) {
  process.stderr.write(`${name}\n`);
  const subject = plan.subjects[name];
  const runs = options.quick ? plan.quick : (subject.runs ?? plan.runs);
  const dir = join(RESULTS, name);
  rmSync(dir, { recursive: true, force: true });
  for (const args of runs) {
    const started = await start(subject, image);
    const part = mkdtempSync(join(work, "run-"));
    try {
      await run([CLI, "bench", started.url, ...args, "--output-dir", part]);
    } finally {
      await started.close();
    }
    const [head, ...rows] = readFileSync(join(part, "summary.csv"), "utf8").trimEnd().split("\n");
    const file = join(dir, "summary.csv");
    mkdirSync(dir, { recursive: true });
    if (!existsSync(file)) appendFileSync(file, `${head}\n`);
    // The first column is the URL, whose port is another in each run.
    appendFileSync(file, rows.map((row) => `${row.replace(/^[^,]*/, "http://127.0.0.1")}\n`).join(""));
  }
}

/** All of a set-up, behind one URL. */
async function start(subject, image) {
  const running = [];
  const close = () => Promise.all(running.toReversed().map((one) => one.close()));
  try {
    for (let number = 0; number < subject.servers; number++)
      running.push(await START[subject.start](subject, { image }));
    if (!subject.balancer) return { url: `http://127.0.0.1:${running[0].port}`, close };
    const capacity = subject.workers * subject.capacity;
    const balancer = await startBalancer(running.slice(), { ...subject.balancer, capacity });
    running.push(balancer);
    return { url: balancer.url, close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function run(args) {
  const child = spawn(process.execPath, args, { stdio: "inherit" });
  const [code] = await once(child, "exit");
  if (code !== 0) process.exitCode = 1;
}
