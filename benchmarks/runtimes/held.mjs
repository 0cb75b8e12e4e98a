import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { CLI, planWorkers, startCluster } from "../harness/clusters.mjs";

const SESSIONS = 65_536;
const WAIT = 10;
const ROUNDS = 1;

export const title = "65,536 open sessions on Node that step at once, each step 10 s";

export async function run(bench) {
  if (bench.quick) return [];
  const { limit, workers, args } = planWorkers(SESSIONS);
  const seen = { served: [], memory: [] };
  const p99 = await bench.interleave({ ours: ROUNDS }, async () => {
    const server = await startCluster("node", { args });
    try {
      const row = await stepOnce(server.url, workers);
      if (row.error_type !== null) throw new Error(`${row.error_type}: ${row.error}`);
      seen.served.push((100 * row.steps) / SESSIONS);
      seen.memory.push(row.bytes_per_session / 1000);
      return row.p99_ms / 1000;
    } finally {
      await server.close();
    }
  });
  bench.remarks.push(
    `The ${SESSIONS.toLocaleString("en")} sessions were opened before, 32 at a time by each of ${workers} client processes, each from 16 ` +
      `loopback addresses, at ${workers} workers; a process may have ${limit.toLocaleString("en")} file descriptors. Then all sent a step ` +
      "in the same turn of their process.",
  );
  const row = (id, measure, unit, samples, targets) => ({
    id: `held-${SESSIONS}-${id}`,
    measure: `Node: ${SESSIONS.toLocaleString("en")} open sessions, a step of ${WAIT} s at once: ${measure}`,
    unit,
    samples,
    targets,
  });
  return [
    row("served", "served", "%", { ours: seen.served }, [{ limit: "at least", value: 100 }]),
    row("p99", "p99 of the step", "s", p99, [{ limit: "at most", value: 15 }]),
    row("memory", "memory of an open session", "kB", { ours: seen.memory }, []),
  ];
}

async function stepOnce(url, processes) {
  const folder = mkdtempSync(join(tmpdir(), "openenv-bench-"));
  try {
    const load = ["--connections-grid", SESSIONS, "--seconds", 0.1, "--action", JSON.stringify({ wait_seconds: WAIT })];
    const args = ["bench", url, "--throughput", ...load, "--processes", processes, "--output-dir", folder, "--json"];
    const { stdout } = await promisify(execFile)(process.execPath, [CLI, ...args.map(String)]);
    return JSON.parse(stdout).rows[0];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
