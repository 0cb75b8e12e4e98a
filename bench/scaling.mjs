/**
 * `node bench/scaling.mjs`: the experiments of experiments/scaling.json, each subject in turn with the machine to
 * itself, measured by `openenv bench`; tables and pictures go to results/scaling/.
 * Options: --quick, --only node-1-worker,python-1-worker.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { CLI, startFleet } from "./fleets.mjs";

const HERE = fileURLToPath(new URL(".", import.meta.url));

const { values: options } = parseArgs({ options: { quick: { type: "boolean" }, only: { type: "string" } } });
const plan = JSON.parse(readFileSync(`${HERE}experiments/scaling.json`, "utf8"));
const only = options.only?.split(",") ?? Object.keys(plan.subjects);
const unknown = only.find((name) => !(name in plan.subjects));
if (unknown) throw new Error(`no subject "${unknown}": ${Object.keys(plan.subjects).join(", ")}`);

const dirs = [];
for (const name of only) {
  const subject = plan.subjects[name];
  if (subject.start === "python" && !process.env.OPENENV_PYTHON) {
    process.stderr.write(`${name}: not measured, OPENENV_PYTHON names no Python that has the package openenv\n`);
    continue;
  }
  const dir = `${HERE}results/scaling/${name}`;
  rmSync(dir, { recursive: true, force: true });
  dirs.push(dir);
  const runs = options.quick ? plan.quick : { ...plan.runs, ...subject.runs };
  // Each run has a server of its own: the memory of a session is growth of a fresh one.
  for (const args of Object.values(runs)) await measure(name, subject, [...args, "--output-dir", dir]);
  rmSync(`${dir}/raw.jsonl`, { force: true });
}
await run([CLI, "bench", "report", ...dirs.filter(existsSync), "--output-dir", `${HERE}results/scaling`]);

async function measure(name, { start, args, env }, bench) {
  const server = await startFleet(start, { args, env: { ...plan.env, ...env } });
  try {
    process.stderr.write(`${name}\n`);
    await run([CLI, "bench", server.url, ...bench]);
  } finally {
    await server.close();
  }
}

async function run(args) {
  const child = spawn(process.execPath, args, { stdio: "inherit" });
  const [code] = await once(child, "exit");
  if (code !== 0) process.exitCode = 1;
}
