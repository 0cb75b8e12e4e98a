/**
 * Runs the code of the README and of the guide, so that no page promises what does not work.
 *
 *     ```ts file=play.ts                            part of the page's own little project, type-checked
 *     ```ts file=play.ts run serve=environment.ts   also run, while `openenv serve` serves that; must exit with 0
 *     ```python file=play.py run serve=envs/echo    the same with the Python package, by code.system.test.ts
 *
 * The address a page shows, port 8000 of this machine, is replaced by that of the server under test.
 */
import { join } from "node:path";
import { beforeAll, test } from "vitest";
import { attempt, ROOT, runBlock, runnable, TIME_LIMIT, writeProjects } from "./code-blocks.js";

const CLI = join(ROOT, "packages/cli/bin/openenv.js");
const PROJECTS = join(ROOT, ".cache/docs-code");

beforeAll(() => writeProjects(PROJECTS));

test("the code of every page type-checks", TIME_LIMIT, async () => {
  await attempt([process.execPath, join(ROOT, "node_modules/typescript/bin/tsc"), "-p", PROJECTS], ROOT);
});

for (const { title, page, block } of runnable("ts")) {
  test(title, TIME_LIMIT, () => runBlock(join(PROJECTS, page), block, [process.execPath, CLI, "run"]));
}
