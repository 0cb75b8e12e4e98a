/** Bursts of increasing size until one fails. */
import { once } from "node:events";
import { appendFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findMaxBatches, readResults } from "@openenv-ts/bench";
import { spawnChild } from "../harness/children.mjs";
import { CLI } from "../harness/clusters.mjs";

/**
 * Measures the batches in increasing order, each on a new server, and stops after the first with less than 95 %
 * success. `start` resolves with `{ url, close }`; the rows are added to `summary.csv` in `dir`.
 */
export async function climb({ wait, batches, reps }, { timeout, mode = "ws", start, dir }) {
  for (const batch of batches.toSorted((a, b) => a - b)) {
    const grid = ["-n", batch, "-w", wait, "--reps", reps, "--timeout", timeout, "--mode", mode].map(String);
    await measure(grid, { start, reps, file: join(dir, "summary.csv") });
    if (findMaxBatches(readResults([dir]).bursts)[0]?.stop) return;
  }
}

async function measure(args, { start, reps, file }) {
  const part = mkdtempSync(join(tmpdir(), "openenv-bench-"));
  try {
    const server = await start();
    try {
      const { child } = spawnChild([process.execPath, CLI, "bench", server.url, ...args, "--output-dir", part], {
        stdio: ["ignore", "ignore", "inherit"],
      });
      await once(child, "exit");
    } finally {
      await server.close();
    }
    // A load that has ended early must not look like a batch that was not tried.
    const { bursts } = readResults([part]);
    const repeated = bursts.filter(({ rep }) => typeof rep === "number").length;
    if (repeated !== reps) throw new Error(`openenv bench ended after ${repeated} of ${reps} repetitions`);
    addRows(join(part, "summary.csv"), file);
  } finally {
    rmSync(part, { recursive: true, force: true });
  }
}

function addRows(from, to) {
  const [head, ...rows] = readFileSync(from, "utf8").trimEnd().split("\n");
  mkdirSync(join(to, ".."), { recursive: true });
  if (!existsSync(to)) appendFileSync(to, `${head}\n`);
  // The first column is the URL, whose port differs in each run.
  appendFileSync(to, rows.map((row) => `${row.replace(/^[^,]*/, "http://127.0.0.1")}\n`).join(""));
}
