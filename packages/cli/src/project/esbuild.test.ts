import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { chmod, cp, mkdir, mkdtemp, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import {
  callCommand,
  counterModule,
  createProject,
  runCommand,
} from "../../../../test-support/commands/command-line.js";

const PACKAGES = join(import.meta.dirname, "../../..");
const MODULES = join(PACKAGES, "../node_modules");
const OURS = { openenv: "openenv-ts", providers: "@openenv-ts/providers", cli: "@openenv-ts/cli" };
const LIMIT = { timeout: 60_000 };

test(
  "packages that were installed on another platform are the reason why an environment is not served",
  LIMIT,
  async () => {
    // Outside of the repository, whose packages are those of this platform.
    const dir = await mkdtemp(join(tmpdir(), "openenv-esbuild-"));
    onTestFinished(() => rm(dir, { recursive: true, force: true }));
    await writeFile(join(dir, "environment.ts"), counterModule());
    const modules = join(dir, "node_modules");
    await mkdir(join(modules, "@esbuild", process.platform === "win32" ? "linux-x64" : "win32-x64"), {
      recursive: true,
    });
    for (const name of (await readdir(MODULES)).filter((entry) => !/^(\.|@?esbuild$|@?openenv-ts$)/.test(entry))) {
      await symlink(join(MODULES, name), join(modules, name));
    }
    await cp(join(MODULES, "esbuild"), join(modules, "esbuild"), { recursive: true });
    for (const [folder, name] of Object.entries(OURS)) {
      for (const part of ["bin", "dist", "package.json"]) {
        const from = join(PACKAGES, folder, part);
        if (existsSync(from)) await cp(from, join(modules, name, part), { recursive: true });
      }
    }
    const bin = join(modules, "@openenv-ts/cli/bin/openenv.js");
    const served = promisify(execFile)(process.execPath, [bin, "serve", "environment.ts"], {
      cwd: dir,
      timeout: 30_000,
    });
    const { code, stderr } = (await served.catch((error: unknown) => error)) as { code?: number; stderr: string };
    expect(code).toBe(2);
    expect(stderr).toMatch(/^error: .*esbuild does not run: You installed esbuild for another platform .*npm ci/);
  },
);

test("a compiler that may not be executed is the reason why an environment is not served", LIMIT, async () => {
  await using project = await createProject({ "environment.ts": counterModule(), compiler: "" });
  await chmod(join(project.dir, "compiler"), 0o644);
  const env = { ESBUILD_BINARY_PATH: join(project.dir, "compiler") };
  const { code, stderr } = await runCommand(["serve", "environment.ts"], { cwd: project.dir, env });
  expect(code).toBe(2);
  expect(stderr).toMatch(/^error: .*esbuild does not run: .*EACCES\. .*npm ci/);
});

test.each([
  ["begins with an empty line", String.raw`new Error("\nno key\nset KEY")`, "no key"],
  ["is empty", "new TypeError()", "TypeError"],
])("the reason of an error whose message %s is given", LIMIT, async (_case, thrown, reason) => {
  await using project = await createProject({ "environment.ts": `throw ${thrown};` });
  const { code, stderr } = await callCommand(["serve"], { cwd: project.dir });
  expect(code).toBe(2);
  expect(stderr).toContain(`environment.ts does not load: ${reason} (environment.ts:1:7)`);
});
