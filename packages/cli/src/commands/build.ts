import { statSync } from "node:fs";
import { basename, resolve } from "node:path";
import { findManifest } from "@openenv-ts/providers/manifest";
import type { Command } from "commander";
import { ConfigError, imageName } from "openenv-ts/internal";
import { type BuiltImage, buildImage, DOCKERFILES, findDockerfile, type ImageOptions } from "../image/build-image.js";
import { measureStart } from "../image/measure-start.js";
import { standaloneFolder } from "../image/standalone-folder.js";
import { countWorkers } from "../image/worker-count.js";
import { readWithNotes } from "../project/manifest-notes.js";
import { parseSettings } from "../push/settings.js";
import { refusePlugins } from "../serve/load-plugins.js";
import { abortOnSignals } from "../terminal/interrupt.js";
import { repeatable } from "../terminal/option-values.js";
import { exit, print, printNote, printProgress } from "../terminal/output.js";

const EXAMPLES = `
Runs docker build on the folder, then starts the image once and measures the time until it answers a reset. The
Dockerfile is ${DOCKERFILES.join(" or ")}; docker build -f server/Dockerfile . builds the same image. A package of an
npm workspace is copied and gets its own lock file first.

Exit codes: 0 built and started, 1 failed, 2 invalid usage.

Examples:
  openenv build
  openenv build envs/chess -t registry.example.org/chess:2
  openenv build --build-arg BASE=node:22-slim --no-cache
  openenv build --env API_KEY=test
  openenv build --json | jq .bytes`;

interface BuildFlags {
  tag?: string;
  file?: string;
  buildArg: string[];
  env: string[];
  cache: boolean;
  json?: boolean;
}

export function configureBuild(command: Command): void {
  command
    .argument("[dir]", "folder of the environment", ".")
    .option("-t, --tag <name>", "name of the image (default openenv-<environment>)")
    .option("-f, --file <path>", "path of the Dockerfile")
    .option("--build-arg <name=value>", "build argument; repeatable", repeatable, [])
    .option("--env <name=value>", "environment variable for starting the image; repeatable", repeatable, [])
    .option("--no-cache", "rebuild every layer")
    .option("--json", "print the image, its size in bytes and the times in seconds as JSON")
    .addHelpText("after", EXAMPLES)
    .action(build);
}

async function build(target: string, flags: BuildFlags): Promise<void> {
  const { tag: givenTag, file, buildArg, cache, json } = flags;
  const given = parseSettings("--env", flags.env);
  const dir = resolve(target);
  if (!statSync(dir, { throwIfNoEntry: false })?.isDirectory()) {
    throw new ConfigError(`${target} is not a folder; pass the folder of an environment.`);
  }
  const manifest = await readWithNotes(findManifest, dir);
  refusePlugins(manifest);
  const name = manifest?.name ?? basename(dir);
  const tag = givenTag === undefined ? imageName(name) : checkTag(givenTag);
  using interrupt = abortOnSignals();
  const { signal } = interrupt;

  const begun = performance.now();
  const onStep = (step: string): void => printProgress(`building ${tag}: ${step}`);
  const workers = await countWorkers(dir, { dockerfile: findDockerfile(dir, file), buildArgs: buildArg });
  const buildArgs = [...buildArg, ...workers.buildArgs];
  const image = await buildStandalone({ dir, name, tag, file, buildArgs, noCache: !cache, signal, onStep });
  const buildSeconds = secondsSince(begun);
  printProgress(`starting ${tag}`);
  const startSeconds = await measureStart(tag, { env: { ...manifest?.variables, ...given }, signal });

  const result = {
    tag,
    image: image.id,
    bytes: image.bytes,
    build_seconds: buildSeconds,
    start_seconds: startSeconds,
  };
  const text = `
Built ${tag} in ${buildSeconds} s (${megabytes(image.bytes)}). It answers a reset ${startSeconds} s after its start.

${renderRun(tag, manifest?.port ?? 8000)}`;
  if (workers.note !== undefined) printNote(workers.note);
  print(json ? JSON.stringify(result) : text.trimStart());
  exit(0);
}

async function buildStandalone(options: ImageOptions): Promise<BuiltImage> {
  options.onStep("preparing the folder");
  await using folder = await standaloneFolder(options.dir, options.signal);
  return await buildImage({ ...options, dir: folder.dir });
}

const TAG = /^(?:[A-Za-z0-9.-]+(?::\d+)?\/)?[a-z0-9]+(?:[._/-]+[a-z0-9]+)*(?::\w[\w.-]{0,127})?$/;

function checkTag(tag: string): string {
  if (TAG.test(tag)) return tag;
  throw new ConfigError(
    `${JSON.stringify(tag)} is not a valid image name; use lowercase letters and digits, as in registry.example.org/chess:2.`,
  );
}

/** Commands that start the image, with and without Docker's port proxy. Its limit: benchmarks/reports/PORTS.md. */
function renderRun(tag: string, port: number): string {
  return `  docker run --rm --init -p 127.0.0.1:8000:${port} ${tag}

For thousands of sessions, bypass the proxy of Docker's published ports:

  docker run --rm --init --network host -e HOST=127.0.0.1 -e PORT=8000 ${tag}`;
}

function secondsSince(begun: number): number {
  return Math.round((performance.now() - begun) / 10) / 100;
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`;
}
