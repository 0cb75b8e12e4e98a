import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { requirePython } from "../../test-support/requirement.js";

const RUN = join(import.meta.dirname, "main.mjs");
const python = await requirePython();

async function soak(...options: string[]): Promise<string[]> {
  const env = { ...process.env, OPENENV_PYTHON: python.path };
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [RUN, "--only", "soak", ...options], { env });
  expect(stderr.split("\n").filter((line) => line.includes("not named"))).toEqual([]);
  return stdout.split("\n").filter((line) => line.startsWith("| soak: "));
}

// The processes are found in /proc.
describe.skipIf(!python.available || process.platform !== "linux")("while upstreams are killed", () => {
  test("no step is repeated or wrong, each lost session is named, and nothing is left", {
    timeout: 300_000,
  }, async () => {
    const rows = await soak("--processes", "20", "--minutes", "2", "--kill-every", "5");
    expect(rows.filter((row) => row.includes("**no**"))).toEqual([]);
    expect(rows.join("\n")).toMatch(/upstreams killed \(kills\) \| [1-9]\d*/);
    expect(rows.join("\n")).toMatch(/which the error names \(sessions\) \| [1-9]\d*/);
  });

  test("no session is lost where episodes are made again", { timeout: 180_000 }, async () => {
    const rows = await soak("--processes", "8", "--minutes", "0.5", "--kill-every", "2", "--replay");
    expect(rows.filter((row) => row.includes("**no**"))).toEqual([]);
    expect(rows.join("\n")).toMatch(/which the error names \(sessions\) \| 0 \|/);
  });
});
