import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";

const START_TIMEOUT_MS = 90_000;
const STOP_TIMEOUT_MS = 20_000;

const running = new Set();
process.once("exit", () => {
  for (const child of running) child.kill("SIGKILL");
});
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(130));

/**
 * Starts a server in a process that ends with this one, and resolves when `findPort` finds the port in its output.
 * `onText` gets all output.
 */
export async function startChild(command, { findPort, env, onText = () => {} }) {
  const { child, ...server } = spawnChild(command, { env });
  const port = await readPort(child, findPort, onText);
  return { ...server, port, url: `http://127.0.0.1:${port}` };
}

/** Starts a process that ends with this one. */
export function spawnChild([file, ...args], { env = {}, cwd, stdio = ["ignore", "pipe", "pipe"] } = {}) {
  const child = spawn(file, args, { env: { ...process.env, ...env }, cwd, stdio });
  running.add(child);
  child.once("exit", () => running.delete(child));
  return { child, pid: child.pid, close: () => stop(child) };
}

/** Runs a program that ends with this process, and resolves with what it prints. */
export async function runChild(command, options) {
  const { child } = spawnChild(command, options);
  const [output, errors, [code, signal]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, "exit"),
  ]);
  if (code !== 0) throw new Error(`${command.join(" ")} ended with ${signal ?? code}\n${errors}`);
  return output;
}

function readPort(child, findPort, onText) {
  const timer = setTimeout(() => child.kill("SIGKILL"), START_TIMEOUT_MS);
  return new Promise((resolve, reject) => {
    let read = "";
    const onPart = (part) => {
      onText(part);
      read = (read + part).slice(-10_000);
      const port = findPort(read);
      if (port) resolve(Number(port));
    };
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", onPart);
    child.once("error", reject);
    child.once("exit", (code, signal) => reject(new Error(`ended before it listened (${signal ?? code})\n${read}`)));
  }).finally(() => clearTimeout(timer));
}

/** Sends SIGKILL to these processes. Workers end by themselves when their supervisor has been killed. */
export function killAll(pids) {
  for (const pid of new Set(pids)) {
    try {
      process.kill(pid, "SIGKILL");
    } catch (error) {
      if (error.code !== "ESRCH") throw error;
    }
  }
}

async function stop(child) {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.kill("SIGTERM");
  const timer = setTimeout(() => child.kill("SIGKILL"), STOP_TIMEOUT_MS);
  await ended;
  clearTimeout(timer);
}
