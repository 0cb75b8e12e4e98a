import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { runChild } from "./children.mjs";

let folder;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "openenv-children-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Leaves a file with the name of its process id, says that it listens, and does not end. */
const CHILD = `
require("node:fs").writeFileSync(process.argv[1] + "/" + process.pid, "");
console.log("READY 1");
setInterval(() => {}, 1000);
`;
const BENCHMARK = `
import { runChild, startChild } from ${JSON.stringify(new URL("children.mjs", import.meta.url))};
const command = [process.execPath, "-e", ${JSON.stringify(CHILD)}, process.argv[1]];
await startChild(command, { findPort: (text) => /READY (\\d+)/.exec(text)?.[1] });
await runChild(command);
`;

test.each(["SIGTERM", "SIGINT"])("a benchmark that gets %s ends its server and its program", async (signal) => {
  const args = ["--input-type=module", "-e", BENCHMARK, folder];
  const benchmark = spawn(process.execPath, args, { stdio: ["ignore", "inherit", "inherit"] });
  await expect.poll(() => readdirSync(folder)).toHaveLength(2);
  const children = readdirSync(folder).map(Number);
  expect(children.filter(isRunning)).toEqual(children);
  benchmark.kill(signal);
  expect(await once(benchmark, "exit")).toEqual([130, null]);
  await expect.poll(() => children.filter(isRunning)).toEqual([]);
});

test("a program's output is what it prints, and its errors are in the error when it fails", async () => {
  const run = (code) => runChild([process.execPath, "-e", code], { env: { WORD: "hello" } });
  expect(await run("console.log(process.env.WORD)")).toBe("hello\n");
  await expect(run("console.error('no ' + process.env.WORD); process.exit(3)")).rejects.toThrow(
    /ended with 3\nno hello/,
  );
});

function isRunning(pid) {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
