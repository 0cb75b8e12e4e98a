import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runChild } from "../../harness/children.mjs";

/** Measures parts of another benchmark and resolves with their rows. */
export async function runBenchmark(name, { only, quick }) {
  const dir = mkdtempSync(join(tmpdir(), "openenv-study-"));
  try {
    const file = join(dir, "rows.json");
    const main = join(import.meta.dirname, "../..", name, "main.mjs");
    await runChild([process.execPath, main, "--only", only, "--json", file, ...(quick ? ["--quick"] : [])]);
    return JSON.parse(readFileSync(file, "utf8")).rows;
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}
