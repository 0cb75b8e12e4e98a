import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";

const LOGGER = new URL("../../../dist/server/logging/logger.js", import.meta.url);

/** Runs a program with a logger `log` in a process of its own. */
function run(program: string) {
  const code = `import { createLogger } from "${LOGGER}"; const log = createLogger("info");\n${program}`;
  return spawn(process.execPath, ["--input-type=module", "-e", code], { stdio: ["pipe", "pipe", "pipe"] });
}

test("lines are written in order, also those that come when the process ends", async () => {
  const child = run(`
    for (let i = 0; i < 2_000; i++) log.info({ i }, "line");
    setTimeout(() => {
      log.info({ i: 2_000 }, "line");
      process.exit(0);
    }, 100);
  `);
  const lines = (await text(child.stderr)).trim().split("\n");
  expect(lines.map((line) => JSON.parse(line).i)).toEqual(Array.from({ length: 2_001 }, (_, i) => i));
});

test("lines that a reader had no room for arrive whole when the process ends", async () => {
  const child = run(`
    for (let i = 0; i < 20_000; i++) log.info({ i }, "line");
    setTimeout(() => process.exit(0), 40);
  `);
  const lines = (await text(child.stderr)).trim().split("\n");
  expect(lines.map((line) => JSON.parse(line).i)).toEqual(Array.from({ length: 20_000 }, (_, i) => i));
});

test("lines are dropped while the reader takes nothing, and those that were kept arrive whole", async () => {
  const child = run(`
    const text = "x".repeat(1_000);
    for (let round = 0; round < 10; round++) {
      for (let i = 0; i < 2_000; i++) log.info({ text }, "line");
      await new Promise((resolve) => setTimeout(resolve, 150));
    }
    process.stdout.write("written");
    process.stdin.once("data", () => process.exit(0));
  `);
  await once(child.stdout, "data");
  child.stdin.write("go");
  const received = await text(child.stderr);
  // One block that was being written, one of waiting lines, and what the pipe holds.
  expect(received.length).toBeLessThan(10_000_000);
  for (const line of received.trim().split("\n")) JSON.parse(line);
});

test.each(["log.close()", "process.exit(0)", "log.flush(); log.close(); log.close()"])(
  "%s returns when nobody reads the log any more",
  async (end) => {
    const child = run(`
      process.stdin.once("data", () => {
        for (let i = 0; i < 2_000; i++) log.info({ i }, "line");
        ${end};
        process.stdout.write("returned");
        process.exit(0);
      });
    `);
    child.stderr.destroy();
    await once(child.stderr, "close");
    child.stdin.write("go");
    const [code] = await once(child, "close");
    expect(code).toBe(0);
  },
);
