import { execFile } from "node:child_process";
import { cp } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { createProject } from "../../../../test-support/commands/command-line.js";
import { createNpmImage, docker } from "../../../../test-support/commands/npm-image.js";
import { requireDocker } from "../../../../test-support/requirement.js";

const engine = await requireDocker();
const TEMPLATE = join(import.meta.dirname, "../../templates/env/server/Dockerfile");
const SCRIPT = "node -e \"fs.writeFileSync('ran', '')\"";
const SCRIPTS = { preinstall: SCRIPT, install: SCRIPT, postinstall: SCRIPT };

test.skipIf(!engine.available)(
  "the image of openenv init runs the install scripts of the packages in REBUILD, and of no other",
  { timeout: 600_000 },
  async () => {
    await using project = await createProject();
    const npm = (...args: string[]) => promisify(execFile)("npm", args, { cwd: project.dir });
    const dependencies: Record<string, string> = {};
    for (const name of ["scripted-one", "scripted-two"]) {
      await project.write(`${name}/package.json`, JSON.stringify({ name, version: "1.0.0", scripts: SCRIPTS }));
      dependencies[name] = `file:vendor/${name}-1.0.0.tgz`;
    }
    await project.write("vendor/.gitkeep", "");
    const folders = Object.keys(dependencies).map((name) => `./${name}`);
    await npm("pack", ...folders, "--silent", "--ignore-scripts", "--pack-destination", "vendor");
    const manifest = { name: "echo-env", version: "1.0.0", scripts: SCRIPTS, dependencies };
    await project.write("package.json", JSON.stringify(manifest));
    await npm("install", "--package-lock-only", "--ignore-scripts", "--no-audit", "--no-fund");
    await cp(TEMPLATE, join(project.dir, "Dockerfile"));
    const base = await createNpmImage("node:20-slim");
    const image = `openenv-test-scripts:${process.pid}`;
    const findMarks = async (...args: string[]) => {
      const options = ["--target", "install", "--build-arg", `BUILD_BASE=${base}`, ...args];
      await docker("build", "--quiet", "--tag", image, ...options, project.dir);
      return await docker("run", "--rm", image, "find", "/app", "-name", "ran");
    };
    try {
      expect(await findMarks()).toBe("");
      expect(await findMarks("--build-arg", "REBUILD=scripted-two")).toBe("/app/node_modules/scripted-two/ran");
    } finally {
      await docker("rmi", "--force", image).catch(() => {});
    }
  },
);
