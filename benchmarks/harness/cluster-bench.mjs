import { once } from "node:events";
import { createReadStream, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { readServerUse } from "@openenv-ts/bench";
import { Bench } from "./bench.mjs";
import { spawnChild } from "./children.mjs";
import { CLI, startCluster } from "./clusters.mjs";

const CAPACITY = "20000";
const PYTHON = ["--workers", "2", "--timeout-worker-healthcheck", "60"];

/** The start options of each subject with two workers. */
const CLUSTERS = {
  ours: { kind: "node", args: ["--workers", "2"] },
  control: { kind: "control", env: { WORKERS: "2" } },
  python: { kind: "python", args: PYTHON, env: { METHODS: "plain" } },
  "python async": { kind: "python", args: PYTHON },
};

/** The context of every part of a benchmark with several workers. */
export class ClusterBench extends Bench {
  subjects = Object.keys(CLUSTERS).filter((subject) => !(this.python.missing && subject.startsWith("python")));
  /** Notes for the report. */
  remarks = [];

  /** Runs `work(server)` with a new server of a subject. */
  async withCluster(subject, work, { env = {}, args = [] } = {}) {
    const { kind, ...cluster } = CLUSTERS[subject];
    const server = await startCluster(kind, {
      args: [...(cluster.args ?? []), ...args],
      env: { MAX_CONCURRENT_ENVS: CAPACITY, ...cluster.env, ...env },
    });
    try {
      return await work(server);
    } finally {
      await server.close();
    }
  }

  /**
   * Two bursts by `openenv bench` on a new server, `first` and then `warm`: the summary row of each, and the number of
   * requests by worker.
   */
  async bursts(server, { requests, wait, processes = 1, timeout = 120 }) {
    const dir = mkdtempSync(join(tmpdir(), "openenv-bench-"));
    const grid = ["-n", requests, "-w", wait, "--reps", 1, "--processes", processes, "--timeout", timeout];
    try {
      const { child } = spawnChild(
        [process.execPath, CLI, "bench", server.url, ...grid.map(String), "--json", "--output-dir", `${dir}/out`],
        { stdio: ["ignore", "pipe", "inherit"] },
      );
      let text = "";
      child.stdout.setEncoding("utf8").on("data", (part) => (text += part));
      await once(child, "close");
      const { rows } = JSON.parse(text);
      const served = await countByWorker(`${dir}/out/raw.jsonl`);
      const burstOf = (rep) => ({ summary: rows.find((row) => row.rep === rep), served: [...served[rep].values()] });
      return { first: burstOf("first"), warm: burstOf(1) };
    } finally {
      rmSync(dir, { recursive: true, force: true });
    }
  }

  /** The work done per CPU-second of all processes of the server. */
  async rate(server, work) {
    const before = readServerUse(server.port).cpuSeconds;
    const { done } = await work();
    return done / (readServerUse(server.port).cpuSeconds - before);
  }
}

async function countByWorker(path) {
  const served = { first: new Map(), 1: new Map() };
  for await (const line of createInterface({ input: createReadStream(path) })) {
    const { rep, pid } = JSON.parse(line);
    if (pid !== null) served[rep].set(pid, (served[rep].get(pid) ?? 0) + 1);
  }
  return served;
}
