import { execFile, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, expect, test } from "vitest";
import { withLock } from "./lock.mjs";

let dir;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "openenv-lock-"));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

test("processes with the same lock run one after another", async () => {
  const script = `
    import { appendFileSync } from "node:fs";
    import { setTimeout } from "node:timers/promises";
    import { withLock } from ${JSON.stringify(join(import.meta.dirname, "lock.mjs"))};
    for (let round = 0; round < 20; round++) {
      await withLock(${JSON.stringify(join(dir, "lock"))}, async () => {
        appendFileSync(${JSON.stringify(join(dir, "log"))}, "in ");
        await setTimeout(5);
        appendFileSync(${JSON.stringify(join(dir, "log"))}, "out ");
      });
    }`;
  const run = () => promisify(execFile)(process.execPath, ["--input-type=module", "-e", script]);
  await Promise.all([run(), run(), run()]);
  expect(readFileSync(join(dir, "log"), "utf8")).toBe("in out ".repeat(60));
}, 60_000);

test("a lock whose owner has exited is taken over", async () => {
  const { pid } = spawnSync(process.execPath, ["--version"]);
  writeFileSync(join(dir, "lock"), String(pid));
  expect(await withLock(join(dir, "lock"), () => "done")).toBe("done");
});

test("a lock is released when the work fails", async () => {
  const fail = () => Promise.reject(new Error("no"));
  await expect(withLock(join(dir, "lock"), fail)).rejects.toThrow("no");
  expect(await withLock(join(dir, "lock"), () => "done")).toBe("done");
});
