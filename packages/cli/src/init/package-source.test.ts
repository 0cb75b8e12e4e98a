import { execFile } from "node:child_process";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { createProject, type Project, runCommand } from "../../../../test-support/commands/command-line.js";
import { addPackage, PACKAGE_ROOT } from "./package-source.js";

const run = promisify(execFile);
/** Packing openenv-ts takes seconds. */
const TIME_LIMIT = { timeout: 180_000 };

test(
  "what comes from a checkout, or was installed from a file, is packed; else the version is named",
  TIME_LIMIT,
  async () => {
    await using project = await createProject();
    const { spec, integrity } = await addPackage(project.dir);
    const { version } = JSON.parse(await readFile(join(PACKAGE_ROOT, "package.json"), "utf8")) as { version: string };
    expect(spec).toBe(`file:vendor/openenv-ts-${version}.tgz`);
    expect(integrity).toMatch(/^sha512-[\w+/]{86}==$/);

    const bin = await unpack(project, spec.slice("file:".length));
    await lock(project, {});
    await run(process.execPath, [bin, "init", "chess"], { cwd: project.dir });
    expect(await dependencies(project, "chess")).toEqual({ dependencies: { "openenv-ts": version, zod: "4.6.7" } });
    expect(await readFile(join(project.dir, "chess/package-lock.json"), "utf8")).not.toContain("vendor/");

    await lock(project, { "node_modules/openenv-ts": { resolved: spec } });
    await run(process.execPath, [bin, "init", "checkers"], { cwd: project.dir });
    expect(await dependencies(project, "checkers")).toEqual({
      dependencies: { zod: "4.6.7" },
      optionalDependencies: { "openenv-ts": spec },
    });
    expect(await readFile(join(project.dir, "checkers/package-lock.json"), "utf8")).toContain(`"resolved": "${spec}"`);
  },
);

test("without npm nothing is made, and the message says so", async () => {
  await using project = await createProject();
  const { code, stderr } = await runCommand(["init", "chess"], { cwd: project.dir, env: { PATH: project.dir } });
  expect(stderr).toMatch(/^error: npm could not pack openenv-ts \(spawn npm ENOENT\); check that npm is installed\.$/m);
  expect(code).toBe(2);
  await expect(readFile(join(project.dir, "chess/package.json"))).rejects.toThrow("ENOENT");
});

/** As npm installs it; what it depends on is found in this repository. */
async function unpack(project: Project, file: string): Promise<string> {
  const home = join(project.dir, "node_modules/openenv-ts");
  await mkdir(home, { recursive: true });
  await run("tar", ["-xzf", join(project.dir, file), "-C", home, "--strip-components=1"]);
  return join(home, "bin/openenv.js");
}

async function lock(project: Project, packages: object): Promise<void> {
  await writeFile(join(project.dir, "node_modules/.package-lock.json"), JSON.stringify({ packages }));
}

async function dependencies(project: Project, name: string): Promise<object> {
  const text = await readFile(join(project.dir, name, "package.json"), "utf8");
  const { dependencies, optionalDependencies } = JSON.parse(text) as Record<string, object>;
  return { dependencies, ...(optionalDependencies && { optionalDependencies }) };
}
