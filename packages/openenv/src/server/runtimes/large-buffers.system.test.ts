/** What buffers of a megabyte cost, measured by the system and by V8. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { requireNode24 } from "../../../../../test-support/requirement.js";

const COUNT = 600;
/** Creates buffers, none of which is kept. */
const SCRIPT = `
import { PerformanceObserver, constants } from "node:perf_hooks";
import { setImmediate } from "node:timers/promises";
const [, prepare] = process.argv;
if (prepare) (await import(prepare)).prepareLargeBuffers();
let major = 0;
new PerformanceObserver((list) => {
  for (const { detail } of list.getEntries()) if (detail.kind === constants.NODE_PERFORMANCE_GC_MAJOR) major++;
}).observe({ entryTypes: ["gc"] });
const source = new Uint8Array(1_000_000);
const create = async (count) => {
  for (let i = 0; i < count; i++) {
    new Uint8Array(source);
    await setImmediate();
  }
};
await create(100);
const before = process.resourceUsage().minorPageFault;
major = 0;
await create(${COUNT});
const faults = process.resourceUsage().minorPageFault - before;
await new Promise((resolve) => setTimeout(resolve, 100));
const { glibcVersionRuntime } = process.report.getReport().header;
console.log(JSON.stringify({ faults: faults / ${COUNT}, major, isGlibc: glibcVersionRuntime !== undefined }));
`;
const MODULE = join(import.meta.dirname, "../../../dist/server/runtimes/large-buffers.js");

interface Costs {
  /** Page faults of a buffer. */
  faults: number;
  /** Collections of the whole heap. */
  major: number;
  isGlibc: boolean;
}

async function measure(node: string, ...args: string[]): Promise<Costs> {
  const { stdout, stderr } = await promisify(execFile)(node, ["--input-type=module", "--eval", SCRIPT, ...args]);
  expect(stderr).toBe("");
  return JSON.parse(stdout) as Costs;
}

const NODE24 = await requireNode24();

describe.each([
  { name: "this Node", path: process.execPath, available: true },
  { ...NODE24, name: "Node 24" },
])("a buffer of a megabyte on $name", ({ path, available }) => {
  test.skipIf(!available)("costs few page faults, and no collection of the whole heap", async ({ skip }) => {
    const before = await measure(path);
    const after = await measure(path, MODULE);
    if (!before.isGlibc) skip("the memory of this Node is not allocated by glibc");
    expect(after.faults).toBeLessThan(before.faults / 4);
    expect(after.major).toBeLessThanOrEqual(1);
  });
});
