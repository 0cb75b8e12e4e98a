/** The Python of the READMEs and of the guide; see code.test.ts. */
import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "vitest";
import { createVenv, type Venv } from "../test-support/commands/python-package.js";
import { requirePython } from "../test-support/requirement.js";
import { ENVIRONMENTS, ROOT, runBlocks, TIME_LIMIT, writeProjects } from "./code-blocks.js";

const python = await requirePython();
const PROJECTS = join(ROOT, ".cache/docs-python");
const RUN_EACH = `
import runpy, sys
for file in sys.argv[1:]:
    print(file, flush=True)
    runpy.run_path(file, run_name="__main__")
`;

test.skipIf(!python.available)("the Python of every page runs", TIME_LIMIT, async () => {
  writeProjects(PROJECTS);
  await using venv = await createVenv(python.path);
  await installClients(venv);
  await runBlocks(PROJECTS, { language: "python" }, [venv.python, "-c", RUN_EACH], 500_000);
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
    for (const path of ["pyproject.toml", "README.md", "src"]) {
      await cp(join(ROOT, "python", path), join(home, "python", path), { recursive: true });
    }
    await venv.install(...ENVIRONMENTS.map((name) => join(home, name)), join(home, "python"));
  } finally {
    await rm(home, { recursive: true, force: true });
  }
}
