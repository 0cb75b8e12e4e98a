/** Folders from `openenv init` with one of the environments of `envs/`. */
import { execFile } from "node:child_process";
import { appendFile, cp, readFile, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { promisify } from "node:util";
import { CLI } from "../harness/clusters.mjs";

const ENVIRONMENTS = join(import.meta.dirname, "../../envs");
const execute = promisify(execFile);

/** Creates the folder `<parent>/<name>-env` for the environment `name`, and resolves with its path. */
export async function createEnvironmentFolder(parent, name) {
  const from = join(ENVIRONMENTS, name);
  const dir = join(parent, `${name}-env`);
  await execute(process.execPath, [CLI, "init", basename(dir)], { cwd: parent });
  await cp(join(from, "models.ts"), join(dir, "models.ts"));
  // The template's client imports it by this name.
  await appendFile(join(dir, "models.ts"), `\nexport { ${name} as contract };\n`);
  const manifest = await readFile(join(from, "openenv.yaml"), "utf8");
  const [line, place] = /^environment: (\S+)$/m.exec(manifest);
  const environment = await readFile(join(from, place), "utf8");
  await writeFile(join(dir, "openenv.yaml"), manifest.replace(line, "environment: server/environment.ts"));
  await writeFile(join(dir, "server/environment.ts"), environment.replace('"./models.js"', '"../models.js"'));
  return dir;
}

/** The options of a command that builds images. */
export const BASES = { base: { type: "string" }, "build-base": { type: "string" } };

/** The base images: `--base` and `--build-base`, else those of the Dockerfile. */
export function baseArguments({ base, "build-base": buildBase }) {
  return Object.entries({ BASE: base, BUILD_BASE: buildBase }).flatMap(([name, image]) =>
    image === undefined ? [] : ["--build-arg", `${name}=${image}`],
  );
}

/** Builds its image with `openenv build` and resolves with its report. */
export async function buildImage(dir, tag, args = []) {
  const { stdout } = await execute(process.execPath, [CLI, "build", dir, "-t", tag, "--json", ...args]);
  const result = JSON.parse(stdout);
  process.stderr.write(`  built in ${result.build_seconds} s, starts in ${result.start_seconds} s\n`);
  return result;
}

export async function removeImage(tag) {
  await execute("docker", ["rmi", "--force", tag]).catch(() => {});
}
