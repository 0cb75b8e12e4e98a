/** The Python of the READMEs and of the guide; see code.test.ts. */
import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, test } from "vitest";
import { createVenv, type Venv } from "../test-support/commands/python-package.js";
import { requirePython } from "../test-support/requirement.js";
import { ENVIRONMENTS, ROOT, runBlock, runnable, TIME_LIMIT, writeProjects } from "./code-blocks.js";

const python = await requirePython();
const PROJECTS = join(ROOT, ".cache/docs-python");

describe.skipIf(!python.available)("the Python of every page", () => {
  let venv: Venv;

  beforeAll(async () => {
    writeProjects(PROJECTS);
    venv = await createVenv(python.path);
    await installClients(venv);
  }, TIME_LIMIT.timeout);

  afterAll(() => venv[Symbol.asyncDispose]());

  for (const { title, page, block } of runnable("python")) {
    test(title, TIME_LIMIT, () => runBlock(join(PROJECTS, page), block, [venv.python]));
  }
});

/** From copies: pip builds in the folder that it installs. */
async function installClients(venv: Venv): Promise<void> {
  const home = await mkdtemp(join(tmpdir(), "openenv-clients-"));
  try {
    for (const name of ENVIRONMENTS) {
      for (const path of ["pyproject.toml", `${name}_env`]) {
        await cp(join(ROOT, "envs", name, path), join(home, name, path), { recursive: true });
      }
    }
    await venv.install(...ENVIRONMENTS.map((name) => join(home, name)));
  } finally {
    await rm(home, { recursive: true, force: true });
  }
}
