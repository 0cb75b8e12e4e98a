import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { baseArguments, buildImage, createEnvironmentFolder, removeImage } from "./environment-folder.mjs";

export const title = "the image of the echo environment";

const TAG = `openenv-bench-echo:${process.pid}`;
const execute = promisify(execFile);

export async function run({ quick, ...bases }) {
  const folder = await mkdtemp(join(tmpdir(), "openenv-images-"));
  try {
    const dir = await createEnvironmentFolder(folder, "echo");
    const build = (...args) => buildImage(dir, TAG, [...baseArguments(bases), ...args]);
    const first = await build("--no-cache");
    const above = (first.bytes - (await sizeOf(bases.base ?? "node:24-slim"))) / 1e6;
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
    await removeImage(TAG);
    await rm(folder, { recursive: true, force: true });
  }
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
