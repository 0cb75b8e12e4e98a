/** Bursts of increasing size until one fails, for the benchmarks `scaling` and `deployments`. */
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
export async function climb({ wait, requests, reps }, { timeout, start, dir }) {
  for (const batch of requests.toSorted((a, b) => a - b)) {
    const grid = ["--requests-grid", batch, "--wait-grid", wait, "--reps", reps, "--timeout", timeout];
    await measure(grid.map(String), { start, file: join(dir, "summary.csv") });
    const { bursts } = readResults([dir]);
    const [largest] = findMaxBatches(bursts.filter(({ wait_seconds }) => wait_seconds === wait));
    if (largest?.stop) return;
  }
}

/** Measures closed loops of steps `reps` times, each on a new server; the rows are added to `throughput.csv`. */
export async function loopSteps({ reps, args }, { start, dir }) {
  for (let rep = 0; rep < reps; rep++) {
    await measure(["--throughput", ...args], { start, file: join(dir, "throughput.csv") });
  }
}

/** Writes the report of these results: tables and pictures. */
export async function report(dirs, output) {
  await run([CLI, "bench", "report", ...dirs.filter(existsSync), "--output-dir", output]);
}

/** The folder of `--output-dir`; else a temporary folder with `--quick`, and `results` without. */
export function chooseOutput({ quick, "output-dir": output }, results) {
  return output ?? (quick ? mkdtempSync(join(tmpdir(), "openenv-bench-")) : results);
}

/** Only the names in `--only`, else all. */
export function chooseSubjects({ only }, { subjects }) {
  const names = only?.split(",") ?? Object.keys(subjects);
  const unknown = names.find((name) => !(name in subjects));
  if (unknown) throw new Error(`no subject "${unknown}": ${Object.keys(subjects).join(", ")}`);
  return names;
}

async function measure(args, { start, file }) {
  const part = mkdtempSync(join(tmpdir(), "openenv-bench-"));
  try {
    const server = await start();
    try {
      await run([CLI, "bench", server.url, ...args, "--output-dir", part]);
    } finally {
      await server.close();
    }
    addRows(join(part, args.includes("--throughput") ? "throughput.csv" : "summary.csv"), file);
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

async function run(args) {
  const { child } = spawnChild([process.execPath, ...args], { stdio: "inherit" });
  const [code] = await once(child, "exit");
  if (code !== 0) process.exitCode = 1;
}
