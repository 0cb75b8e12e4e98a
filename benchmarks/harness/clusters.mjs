/** Servers of the benchmark environment, started as in production: the command line, the control, uvicorn. */
import { fileURLToPath } from "node:url";
import { findServerProcesses } from "@openenv-ts/bench";
import { descriptorLimit } from "openenv-ts/internal";
import { startChild } from "./children.mjs";

export const CLI = pathOf("../../packages/cli/bin/openenv.js");
const BENCHMARK = pathOf("../../envs/benchmark");
/** Share of a worker's file descriptors for sessions, with room for an uneven distribution. */
const SPARE = 0.75;
const PYTHON = process.env.OPENENV_PYTHON;

/** The command of a kind of server, and its output when it listens. */
const START = {
  control: () => ({
    command: [process.execPath, pathOf("../controls/benchmark_control.mjs")],
    findPort: (text) => /^READY (\d+)/m.exec(text)?.[1],
  }),
  node: (args, target) => ({
    command: [process.execPath, CLI, "serve", target, "--port", "0", "--log-level", "warn", ...args],
    findPort: (text) => / at http:\/\/[^\s:]+:(\d+)/.exec(text)?.[1],
  }),
  python: (args) => ({
    command: [
      PYTHON,
      "-m",
      "uvicorn",
      "--app-dir",
      pathOf("../controls"),
      "python_benchmark:app",
      "--port",
      "0",
      ...args,
    ],
    findPort(text) {
      const workers = Number(args[args.indexOf("--workers") + 1] ?? 1) || 1;
      // The port is bound before every worker listens.
      const started = text.match(/startup complete/g)?.length ?? 0;
      return started < workers ? undefined : /running on http:\/\/[^\s:]+:(\d+)/.exec(text)?.[1];
    },
  }),
};

/**
 * Starts a server and resolves when all workers listen. `env` is added to the variables of this process, `target` is
 * the path of the environment that Node serves, `onText` gets the output.
 */
export async function startCluster(kind, { args = [], env, target = BENCHMARK, onText } = {}) {
  const { command, findPort } = START[kind](args, target);
  const server = await startChild(command, { findPort, env, onText });
  /** All running processes of the server. */
  return { ...server, processes: () => findServerProcesses(server.port) };
}

/** As many workers as the file descriptor limit requires for so many sessions, and their options. */
export function planWorkers(sessions) {
  const limit = descriptorLimit();
  const workers = Math.max(2, Math.ceil(sessions / (limit * SPARE)));
  const capacity = Math.floor(limit * SPARE * 1.15);
  return { limit, workers, args: ["--workers", String(workers), "--max-concurrent-envs", String(capacity)] };
}

function pathOf(place) {
  return fileURLToPath(new URL(place, import.meta.url));
}
