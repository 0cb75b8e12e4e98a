import { execFile } from "node:child_process";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { callCommand, createProject, type Project } from "../../../../test-support/commands/command-line.js";
import { CLI, CLI_ROOT } from "../project/package-root.js";
import { addPackages } from "./package-source.js";

const run = promisify(execFile);
/** What an environment runs with. */
const RUNTIME = /^openenv-ts$|\/(web|gateway)$/;
/** Packing openenv-ts takes seconds. */
const TIME_LIMIT = { timeout: 180_000 };

test(
  "what comes from a checkout, or was installed from a file, is packed; else the version is named",
  TIME_LIMIT,
  async () => {
    await using project = await createProject();
    const sources = await addPackages(project.dir);
    const { version } = JSON.parse(await readFile(join(CLI_ROOT, "package.json"), "utf8")) as { version: string };
    const specs = Object.fromEntries(sources.map(({ name, spec }) => [name, spec]));
    expect(specs["openenv-ts"]).toBe(`file:vendor/openenv-ts-${version}.tgz`);
    expect(specs[CLI]).toBe(`file:vendor/openenv-ts-cli-${version}.tgz`);
    for (const { integrity } of sources) expect(integrity).toMatch(/^sha512-[\w+/]{86}==$/);

    for (const { name, spec } of sources) await unpack(project, name, spec.slice("file:".length));
    const bin = join(project.dir, "node_modules", CLI, "bin/openenv.js");
    await lock(project, {});
    await run(process.execPath, [bin, "init", "chess"], { cwd: project.dir });
    expect(await dependencies(project, "chess")).toEqual({
      dependencies: {
        "@openenv-ts/gateway": version,
        "@openenv-ts/web": version,
        "openenv-ts": version,
        redis: "6.3.1",
        zod: "4.6.7",
      },
      ours: { [CLI]: version },
    });
    expect(await readFile(join(project.dir, "chess/package-lock.json"), "utf8")).not.toContain("vendor/");

    await lock(project, { [`node_modules/${CLI}`]: { resolved: specs[CLI] } });
    await run(process.execPath, [bin, "init", "checkers"], { cwd: project.dir });
    expect(await dependencies(project, "checkers")).toEqual({
      dependencies: { redis: "6.3.1", zod: "4.6.7" },
      optionalDependencies: pick(specs, (name) => RUNTIME.test(name)),
      ours: pick(specs, (name) => !RUNTIME.test(name)),
    });
    const text = await readFile(join(project.dir, "checkers/package-lock.json"), "utf8");
    for (const { spec } of sources) expect(text).toContain(`"resolved": "${spec}"`);
  },
);

test(
  "a package that is not built, or without its declarations, is refused, and nothing is made",
  TIME_LIMIT,
  async () => {
    await using project = await createProject();
    for (const { name, spec } of await addPackages(project.dir))
      await unpack(project, name, spec.slice("file:".length));
    const bin = join(project.dir, "node_modules", CLI, "bin/openenv.js");
    await lock(project, { [`node_modules/${CLI}`]: { resolved: "file:vendor/cli.tgz" } });
    for (const missing of ["dist/index.d.ts", "dist"]) {
      await rm(join(project.dir, "node_modules/@openenv-ts/gateway", missing), { recursive: true });
      const message = `error: node_modules/@openenv-ts/gateway is not built: ./${missing} is missing; run: npm run build\n`;
      await expect(run(process.execPath, [bin, "init", "chess"], { cwd: project.dir })).rejects.toMatchObject({
        code: 2,
        stdout: "",
        stderr: message,
      });
      expect((await readdir(project.dir)).sort()).toEqual(["node_modules", "package.json", "vendor"]);
    }
  },
);

test("without npm nothing is made, and the message says so", async () => {
  await using project = await createProject();
  const { code, stderr } = await callCommand(["init", "chess"], { cwd: project.dir, env: { PATH: project.dir } });
  expect(stderr).toMatch(/^error: npm pack of openenv-ts failed \(spawn npm ENOENT\); check that npm is installed\.$/m);
  expect(code).toBe(2);
  await expect(readFile(join(project.dir, "chess/package.json"))).rejects.toThrow("ENOENT");
});

/** As npm installs it; what it depends on is found in this repository. */
async function unpack(project: Project, name: string, file: string): Promise<void> {
  const home = join(project.dir, "node_modules", name);
  await mkdir(home, { recursive: true });
  await run("tar", ["-xzf", join(project.dir, file), "-C", home, "--strip-components=1"]);
}

async function lock(project: Project, packages: object): Promise<void> {
  await writeFile(join(project.dir, "node_modules/.package-lock.json"), JSON.stringify({ packages }));
}

function pick(specs: object, isWanted: (name: string) => boolean): object {
  return Object.fromEntries(Object.entries(specs).filter(([name]) => isWanted(name)));
}

async function dependencies(project: Project, name: string): Promise<object> {
  const text = await readFile(join(project.dir, name, "package.json"), "utf8");
  const { dependencies, optionalDependencies, devDependencies = {} } = JSON.parse(text) as Record<string, object>;
  const ours = pick(devDependencies, (name) => name.startsWith("@openenv-ts/"));
  return { dependencies, ...(optionalDependencies && { optionalDependencies }), ours };
}
