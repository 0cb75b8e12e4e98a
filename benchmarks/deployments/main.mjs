/**
 * `npm run bench -- deployments`: the plan of deployments.json, each set-up in turn with the machine to
 * itself, measured by `openenv bench`. Tables and pictures go to results/deployments/, reports/DEPLOYMENTS.md puts them next to
 * the study that is its model.
 * Options: --quick, --only local-node,hf-like, --output-dir <folder>, --base <image with node>,
 * --build-base <image with npm>.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { parseArgs } from "node:util";
import { readResults } from "@openenv-ts/bench";
import {
  BASES,
  baseArguments,
  buildImage,
  createEnvironmentFolder,
  removeImage,
} from "../images/environment-folder.mjs";
import { chooseOutput, chooseSubjects, climb, report } from "../scaling/ladder.mjs";
import { startBalancer } from "./balancer.mjs";
import { renderDeployments } from "./report.mjs";
import { findMissing, START } from "./servers.mjs";

const HERE = import.meta.dirname;
const REPORTS = join(HERE, "../reports");
const TAG = `openenv-bench-deployments:${process.pid}`;

const { values: options } = parseArgs({
  options: {
    ...{ quick: { type: "boolean" }, only: { type: "string" } },
    ...{ "output-dir": { type: "string" }, ...BASES },
  },
});
const plan = JSON.parse(readFileSync(join(HERE, "deployments.json"), "utf8"));
const only = chooseSubjects(options, plan);
const results = join(HERE, "../results/deployments");
const output = chooseOutput(options, results);

const measured = only.filter((name) => {
  const missing = findMissing(plan.subjects[name]);
  if (missing) process.stderr.write(`${name}: not measured, ${missing}\n`);
  return !missing;
});
const dirs = Object.keys(plan.subjects).map((name) => join(output, name));
// Earlier results go into the same report, so they are checked before hours of measuring.
readResults(dirs.filter((dir) => existsSync(dir) && !measured.includes(basename(dir))));

const work = mkdtempSync(join(tmpdir(), "openenv-deployments-"));
try {
  const image = measured.some((name) => plan.subjects[name].start === "docker") ? await build() : undefined;
  for (const name of measured) await measure(name, image);
  await report(dirs, output);
  writeFileSync(join(output === results ? REPORTS : output, "DEPLOYMENTS.md"), renderDeployments(plan, output));
} finally {
  rmSync(work, { recursive: true, force: true });
  await removeImage(TAG);
}

async function build() {
  const dir = await createEnvironmentFolder(work, "benchmark");
  await buildImage(dir, TAG, baseArguments(options));
  return TAG;
}

async function measure(name, image) {
  const began = performance.now();
  const subject = plan.subjects[name];
  const dir = join(output, name);
  rmSync(dir, { recursive: true, force: true });
  for (const ladder of (options.quick ? plan.quick : plan).ladders) {
    // The same batches for all, plus the capacity of a set-up if it is below the largest batch.
    const requests = [...ladder.requests, ...(subject.also ?? [])];
    await climb({ ...ladder, requests }, { timeout: plan.timeout, start: () => start(subject, image), dir });
  }
  process.stderr.write(`${name}: measured in ${((performance.now() - began) / 60_000).toFixed(1)} minutes\n`);
}

/** Starts a complete set-up behind one URL. */
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
