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

const START_TIMEOUT_MS = 90_000;
const STOP_TIMEOUT_MS = 10_000;
const HERE = fileURLToPath(new URL(".", import.meta.url));
const CLI = fileURLToPath(new URL("../openenv/bin/openenv.js", import.meta.url));
const ENVIRONMENT = fileURLToPath(new URL("../envs/benchmark", import.meta.url));
const PYTHON = process.env.OPENENV_PYTHON;

/** The command of a kind of subject, and what it prints when it listens. */
const START = {
  control: () => ({
    command: [process.execPath, `${HERE}controls/benchmark_control.mjs`],
    findPort: (text) => /^READY (\d+)/m.exec(text)?.[1],
  }),
  node: (args) => ({
    command: [process.execPath, CLI, "serve", ENVIRONMENT, "--port", "0", "--log-level", "warn", ...args],
    findPort: (text) => / at http:\/\/[^\s:]+:(\d+)/.exec(text)?.[1],
  }),
  python: (args) => ({
    command: [PYTHON, "-m", "uvicorn", "--app-dir", `${HERE}controls`, "python_benchmark:app", "--port", "0", ...args],
    findPort(text) {
      const workers = Number(args[args.indexOf("--workers") + 1] ?? 1) || 1;
      // The port is bound before every worker listens.
      const started = text.match(/startup complete/g)?.length ?? 0;
      return started < workers ? undefined : /running on http:\/\/[^\s:]+:(\d+)/.exec(text)?.[1];
    },
  }),
};

const { values: options } = parseArgs({ options: { quick: { type: "boolean" }, only: { type: "string" } } });
const plan = JSON.parse(readFileSync(`${HERE}experiments/scaling.json`, "utf8"));
const only = options.only?.split(",") ?? Object.keys(plan.subjects);
const unknown = only.find((name) => !(name in plan.subjects));
if (unknown) throw new Error(`no subject "${unknown}": ${Object.keys(plan.subjects).join(", ")}`);

let running;
process.once("exit", () => running?.kill("SIGKILL"));
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(130));

const dirs = [];
for (const name of only) {
  const subject = plan.subjects[name];
  if (subject.start === "python" && !PYTHON) {
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

async function measure(name, { start, args = [], env = {} }, bench) {
  const { command, findPort } = START[start](args);
  const [file, ...rest] = command;
  running = spawn(file, rest, { env: { ...process.env, ...plan.env, ...env }, stdio: ["ignore", "pipe", "pipe"] });
  try {
    const url = `http://127.0.0.1:${await readPort(running, findPort)}`;
    process.stderr.write(`${name}\n`);
    await run([CLI, "bench", url, ...bench]);
  } finally {
    await stop(running);
    running = undefined;
  }
}

function readPort(child, findPort) {
  const timer = setTimeout(() => child.kill("SIGKILL"), START_TIMEOUT_MS);
  return new Promise((resolve, reject) => {
    let text = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (part) => {
        text = (text + part).slice(-10_000);
        const port = findPort(text);
        if (port) resolve(Number(port));
      });
    }
    child.once("error", reject);
    child.once("exit", (code, signal) => reject(new Error(`ended before it listened (${signal ?? code})\n${text}`)));
  }).finally(() => clearTimeout(timer));
}

async function run(args) {
  const child = spawn(process.execPath, args, { stdio: "inherit" });
  const [code] = await once(child, "exit");
  if (code !== 0) process.exitCode = 1;
}

async function stop(child) {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.kill("SIGTERM");
  const timer = setTimeout(() => child.kill("SIGKILL"), STOP_TIMEOUT_MS);
  await ended;
  clearTimeout(timer);
}
