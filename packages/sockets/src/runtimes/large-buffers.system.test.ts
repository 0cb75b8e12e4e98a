/** What buffers of a megabyte cost, measured by the system and by V8. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { requireNode24 } from "../../../../test-support/requirement.js";

const COUNT = 1_000;
/** Creates buffers and keeps none. The first ones are not counted: the heap still grows. */
const SCRIPT = `
import { PerformanceObserver, constants } from "node:perf_hooks";
import { setImmediate } from "node:timers/promises";
const [, path] = process.argv;
const { prepareLargeBuffers } = await import(path);
prepareLargeBuffers();
let [major, minor] = [0, 0];
new PerformanceObserver((list) => {
  for (const { detail } of list.getEntries()) {
    if (detail.kind === constants.NODE_PERFORMANCE_GC_MAJOR) major++;
    if (detail.kind === constants.NODE_PERFORMANCE_GC_MINOR) minor++;
  }
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
[major, minor] = [0, 0];
await create(${COUNT});
const faults = process.resourceUsage().minorPageFault - before;
await new Promise((resolve) => setTimeout(resolve, 100));
const { glibcVersionRuntime } = process.report.getReport().header;
console.log(JSON.stringify({ faults: faults / ${COUNT}, major, minor, isGlibc: glibcVersionRuntime !== undefined }));
`;
const MODULE = join(import.meta.dirname, "../../dist/runtimes/large-buffers.js");

interface Costs {
  /** Page faults of a buffer. */
  faults: number;
  /** Collections of the whole heap, and of the young generation. */
  major: number;
  minor: number;
  isGlibc: boolean;
}

async function measure(node: string): Promise<Costs> {
  const { stdout, stderr } = await promisify(execFile)(node, ["--input-type=module", "--eval", SCRIPT, MODULE]);
  expect(stderr).toBe("");
  return JSON.parse(stdout) as Costs;
}

/** The versions with the limits below. */
const MEASURED = /^v2[0-4]\./;
const NODE24 = await requireNode24();

describe.each([
  { name: "the Node of the tests", path: process.execPath, available: true },
  { ...NODE24, name: "Node 24" },
])("buffers of a megabyte on $name", ({ path, available }) => {
  test.skipIf(!available)("cause few page faults and few collections of the whole heap", async ({ skip }) => {
    if (path === process.execPath && !MEASURED.test(process.version)) skip(`not measured on Node ${process.version}`);
    const { faults, major, minor, isGlibc } = await measure(path);
    if (!isGlibc) skip("the memory of this Node is not allocated by glibc");
    // Without preparation: 130 to 240 page faults on Node 20, and only collections of the whole heap on Node 24.
    expect(faults).toBeLessThan(40);
    expect(major).toBeLessThan(minor / 4);
  });
});
