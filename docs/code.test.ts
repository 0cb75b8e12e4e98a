/**
 * Runs the code of the README and of the guide, so that no page promises what does not work.
 *
 *     ```ts file=play.ts                            part of the page's own project, type-checked
 *     ```ts file=play.ts run serve=environment.ts   also run, while `openenv serve` serves that
 *     ```python file=play.py run serve=envs/echo    the same with the Python package, by code.system.test.ts
 *     ```python file=grpo.py training serve=...     the same with torch, by training.system.test.ts
 *
 * The address on a page, port 8000 of this machine, is replaced by that of the server under test.
 */
import { join } from "node:path";
import { test } from "vitest";
import { attempt, ROOT, runBlocks, TIME_LIMIT, writeProjects } from "./code-blocks.js";

const PROJECTS = join(ROOT, ".cache/docs-code");
const RUN_EACH = `
  for (const file of process.argv.slice(1)) {
    await import(file).catch((cause) => {
      throw new Error("This code of a page fails: " + file, { cause });
    });
  }`;

test("the code of every page compiles, runs and lets its process end", TIME_LIMIT, async () => {
  writeProjects(PROJECTS);
  await attempt([process.execPath, join(ROOT, "node_modules/typescript/bin/tsc"), "-p", PROJECTS], ROOT);
  await runBlocks(PROJECTS, { language: "ts" }, [process.execPath, "--input-type=module", "--eval", RUN_EACH]);
});
