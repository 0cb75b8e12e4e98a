import { randomBytes } from "node:crypto";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { residentBytes } from "@openenv-ts/bench";
import { startCluster } from "../harness/clusters.mjs";

const PATIENCE_MS = 30_000;
/** The operator token, for the capacity of all workers. */
const TOKEN = randomBytes(16).toString("hex");

/** `openenv serve envs/benchmark` with workers, and the resource use of its processes. */
export async function startWatchedCluster(workers, capacity) {
  const folder = mkdtempSync(join(tmpdir(), "openenv-bench-"));
  const log = { lost: 0 };
  const server = await startCluster("node", {
    args: ["--workers", String(workers), "--max-concurrent-envs", String(capacity)],
    env: { TMPDIR: folder, OPENENV_OPERATOR_TOKEN: TOKEN },
    onText: (text) => (log.lost += text.split("a worker exited").length - 1),
  });
  return {
    url: server.url,
    supervisor: server.pid,
    log,
    workers: () => server.processes().filter((pid) => pid !== server.pid),
    residentBytes: () => server.processes().reduce((sum, pid) => sum + residentBytes(pid), 0),
    async capacity() {
      const response = await fetch(`${server.url}/sessions`, {
        headers: { authorization: `Bearer ${TOKEN}`, connection: "close" },
      });
      return (await response.json()).capacity;
    },
    /** Local sockets, one per worker. */
    socketFiles: () => readdirSync(folder).flatMap((name) => readdirSync(join(folder, name))),
    async close() {
      await server.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export function openDescriptors(pid) {
  try {
    return readdirSync(`/proc/${pid}/fd`).length;
  } catch {
    return 0;
  }
}

/** Polls a condition; false after 30 s, which is a result and not an error. */
export async function cameTrue(condition) {
  for (const deadline = Date.now() + PATIENCE_MS; Date.now() < deadline; await sleep(50)) {
    if (await condition()) return true;
  }
  return false;
}
