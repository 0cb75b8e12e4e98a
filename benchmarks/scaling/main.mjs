/**
 * `npm run bench -- scaling`: the plan of scaling.json, each subject in turn with the machine to
 * itself, measured by `openenv bench`; tables and pictures go to results/scaling/.
 * Options: --quick, --only node-1-worker,python-1-worker, --output-dir <folder>.
 */
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { startCluster } from "../harness/clusters.mjs";
import { chooseOutput, chooseSubjects, climb, loopSteps, report } from "./ladder.mjs";

const HERE = import.meta.dirname;

const { values: options } = parseArgs({
  options: { quick: { type: "boolean" }, only: { type: "string" }, "output-dir": { type: "string" } },
});
const plan = JSON.parse(readFileSync(join(HERE, "scaling.json"), "utf8"));
const output = chooseOutput(options, join(HERE, "../results/scaling"));
const { ladders, steps } = options.quick ? plan.quick : plan;

for (const name of chooseSubjects(options, plan)) {
  const { start: kind, args, env } = plan.subjects[name];
  if (kind === "python" && !process.env.OPENENV_PYTHON) {
    process.stderr.write(`${name}: not measured, OPENENV_PYTHON is not a Python with the package openenv\n`);
    continue;
  }
  const began = performance.now();
  const dir = join(output, name);
  rmSync(dir, { recursive: true, force: true });
  const start = () => startCluster(kind, { args, env: { ...plan.env, ...env } });
  for (const ladder of ladders) await climb(ladder, { timeout: plan.timeout, start, dir });
  await loopSteps(steps, { start, dir });
  process.stderr.write(`${name}: measured in ${((performance.now() - began) / 60_000).toFixed(1)} minutes\n`);
}
const dirs = Object.keys(plan.subjects).map((name) => join(output, name));
await report(dirs, output);
