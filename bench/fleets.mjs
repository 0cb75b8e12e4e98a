/** Servers of the benchmark environment as they are started for real: the command line, the control, uvicorn. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { findServerProcesses } from "openenv-ts/bench";

const START_TIMEOUT_MS = 90_000;
const STOP_TIMEOUT_MS = 20_000;
export const CLI = pathOf("../openenv/bin/openenv.js");
const PYTHON = process.env.OPENENV_PYTHON;

/** The command of a kind of server, and what it prints when it listens. */
const START = {
  control: () => ({
    command: [process.execPath, pathOf("controls/benchmark_control.mjs")],
    findPort: (text) => /^READY (\d+)/m.exec(text)?.[1],
  }),
  node: (args, target) => ({
    command: [process.execPath, CLI, "serve", target, "--port", "0", "--log-level", "warn", ...args],
    findPort: (text) => / at http:\/\/[^\s:]+:(\d+)/.exec(text)?.[1],
  }),
  python: (args) => ({
    command: [PYTHON, "-m", "uvicorn", "--app-dir", pathOf("controls"), "python_benchmark:app", "--port", "0", ...args],
    findPort(text) {
      const workers = Number(args[args.indexOf("--workers") + 1] ?? 1) || 1;
      // The port is bound before every worker listens.
      const started = text.match(/startup complete/g)?.length ?? 0;
      return started < workers ? undefined : /running on http:\/\/[^\s:]+:(\d+)/.exec(text)?.[1];
    },
  }),
};

const running = new Set();
process.once("exit", () => {
  for (const child of running) child.kill("SIGKILL");
});
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(130));

/**
 * Starts a server and resolves when all of it listens; `env` is added to this process's, `target` is what Node serves,
 * `onText` gets what the server prints.
 */
export async function startFleet(kind, { args = [], env = {}, target = "../envs/benchmark", onText = () => {} } = {}) {
  const { command, findPort } = START[kind](args, pathOf(target));
  const [file, ...rest] = command;
  const child = spawn(file, rest, { env: { ...process.env, ...env }, stdio: ["ignore", "pipe", "pipe"] });
  running.add(child);
  child.once("exit", () => running.delete(child));
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", onText);
  const port = await readPort(child, findPort);
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    pid: child.pid,
    /** Every process of it that runs now. */
    processes: () => findServerProcesses(port),
    close: () => stop(child),
  };
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

async function stop(child) {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.kill("SIGTERM");
  const timer = setTimeout(() => child.kill("SIGKILL"), STOP_TIMEOUT_MS);
  await ended;
  clearTimeout(timer);
}

function pathOf(place) {
  return fileURLToPath(new URL(place, import.meta.url));
}
