import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { residentBytes } from "openenv-ts/bench";

const CLI = fileURLToPath(new URL("../openenv/bin/openenv.js", import.meta.url));
const ENVIRONMENT = fileURLToPath(new URL("../envs/benchmark", import.meta.url));
const START_TIMEOUT_MS = 90_000;
const STOP_TIMEOUT_MS = 20_000;
const PATIENCE_MS = 30_000;

const running = new Set();
process.once("exit", () => {
  for (const child of running) child.kill("SIGKILL");
});
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(130));

/** `openenv serve envs/benchmark` with workers, and what the operating system says of its processes. */
export async function startFleet(workers, capacity) {
  const folder = mkdtempSync(join(tmpdir(), "openenv-bench-"));
  const args = ["serve", ENVIRONMENT, "--port", "0", "--workers", workers, "--max-concurrent-envs", capacity];
  const child = spawn(process.execPath, [CLI, ...args.map(String), "--log-level", "error"], {
    env: { ...process.env, TMPDIR: folder },
    stdio: ["ignore", "pipe", "pipe"],
  });
  running.add(child);
  child.once("exit", () => running.delete(child));
  const log = { lost: 0 };
  child.stderr.setEncoding("utf8").on("data", (text) => (log.lost += text.split("a worker was lost").length - 1));
  const url = await readUrl(child);
  const fleet = {
    url,
    supervisor: child.pid,
    log,
    workers: () => childrenOf(child.pid),
    processes: () => [child.pid, ...childrenOf(child.pid)],
    residentBytes: () => fleet.processes().reduce((sum, pid) => sum + residentBytes(pid), 0),
    async capacity() {
      const response = await fetch(`${url}/sessions`, { headers: { connection: "close" } });
      return (await response.json()).capacity;
    },
    /** Local sockets, one a worker. */
    socketFiles: () => readdirSync(folder).flatMap((name) => readdirSync(join(folder, name))),
    async close() {
      if (child.exitCode === null && child.signalCode === null) {
        const ended = once(child, "exit");
        child.kill("SIGTERM");
        const timer = setTimeout(() => child.kill("SIGKILL"), STOP_TIMEOUT_MS);
        await ended;
        clearTimeout(timer);
      }
      rmSync(folder, { recursive: true, force: true });
    },
  };
  return fleet;
}

export function openDescriptors(pid) {
  try {
    return readdirSync(`/proc/${pid}/fd`).length;
  } catch {
    return 0;
  }
}

/** Polls; false when it did not come true in 30 s, which is a result and no reason to stop. */
export async function cameTrue(condition) {
  for (const deadline = Date.now() + PATIENCE_MS; Date.now() < deadline; await sleep(50)) {
    if (await condition()) return true;
  }
  return false;
}

function childrenOf(parent) {
  return readdirSync("/proc")
    .map(Number)
    .filter((pid) => pid > 0 && parentOf(pid) === parent);
}

function parentOf(pid) {
  try {
    // The name before the last parenthesis may hold spaces; the parent is the second field after it.
    return Number(
      readFileSync(`/proc/${pid}/stat`, "utf8")
        .replace(/^.*\) /s, "")
        .split(" ")[1],
    );
  } catch {
    return 0;
  }
}

function readUrl(child) {
  const timer = setTimeout(() => child.kill("SIGKILL"), START_TIMEOUT_MS);
  return new Promise((resolve, reject) => {
    let text = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (part) => {
        text = (text + part).slice(-10_000);
        const url = / at (http:\/\/\S+)/.exec(text)?.[1];
        if (url) resolve(url);
      });
    }
    child.once("error", reject);
    child.once("exit", (code, signal) => reject(new Error(`ended before it listened (${signal ?? code})\n${text}`)));
  }).finally(() => clearTimeout(timer));
}
