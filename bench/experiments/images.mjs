import { execFile } from "node:child_process";
import { appendFile, cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

export const title = "the image of the echo environment";

const ROOT = join(import.meta.dirname, "../..");
const CLI = join(ROOT, "openenv/bin/openenv.js");
const BASE = "node:20-slim";
const TAG = `openenv-bench-echo:${process.pid}`;
const execute = promisify(execFile);

export async function run({ quick, base }) {
  const folder = await mkdtemp(join(tmpdir(), "openenv-images-"));
  const dir = join(folder, "echo-env");
  try {
    await createEcho(folder, dir);
    const build = (...args) => buildImage(dir, ["--build-arg", `BUILD_BASE=${base}`, ...args]);
    const first = await build("--no-cache");
    const above = (first.bytes - (await sizeOf(BASE))) / 1e6;
    const again = [];
    for (let round = 0; round < (quick ? 1 : 5); round++) {
      await change(join(dir, "server/environment.ts"), round);
      again.push(await build());
    }
    return [
      row("image-size", "size", "MB", [first.bytes / 1e6]),
      row("image-above", "size above the base", "MB", [above], { limit: "at most", value: 25 }),
      row("image-first", "first build", "s", [first.build_seconds]),
      row("image-again", "build after a change of the code", "s", seconds(again, "build_seconds")),
      row("image-start", "start", "s", seconds([first, ...again], "start_seconds")),
    ];
  } finally {
    await execute("docker", ["rmi", "--force", TAG]).catch(() => {});
    await rm(folder, { recursive: true, force: true });
  }
}

async function createEcho(folder, dir) {
  await execute(process.execPath, [CLI, "init", "echo-env"], { cwd: folder });
  for (const file of ["models.ts", "server/environment.ts", "openenv.yaml"]) {
    await cp(join(ROOT, "envs/echo", file), join(dir, file));
  }
  // The template's client asks for it by this name.
  await appendFile(join(dir, "models.ts"), "\nexport { echo as contract };\n");
}

async function buildImage(dir, args) {
  const { stdout } = await execute(process.execPath, [CLI, "build", dir, "-t", TAG, "--json", ...args]);
  const result = JSON.parse(stdout);
  process.stderr.write(`  built in ${result.build_seconds} s, starts in ${result.start_seconds} s\n`);
  return result;
}

async function change(file, round) {
  const text = await readFile(file, "utf8");
  await writeFile(file, text.replace(/Echo environment ready.*?"/, `Echo environment ready ${round}"`));
}

async function sizeOf(image) {
  return Number((await execute("docker", ["image", "inspect", "-f", "{{.Size}}", image])).stdout);
}

function row(id, measure, unit, measured, ...targets) {
  return { id, measure, unit, samples: { measured }, targets };
}

function seconds(builds, key) {
  return builds.map((build) => build[key]);
}
