/** The Python of the README and of the guide; see code.test.ts. */
import { join } from "node:path";
import { beforeAll, test } from "vitest";
import { requirePython } from "../openenv/test-support/requirement.js";
import { ROOT, runBlock, runnable, TIME_LIMIT, writeProjects } from "./code-blocks.js";

const python = await requirePython();
const PROJECTS = join(ROOT, ".cache/docs-python");

beforeAll(() => writeProjects(PROJECTS));

for (const { title, page, block } of runnable("python")) {
  test.skipIf(!python.available)(title, TIME_LIMIT, () => runBlock(join(PROJECTS, page), block, [python.path]));
}
