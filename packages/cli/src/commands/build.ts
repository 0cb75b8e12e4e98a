import { statSync } from "node:fs";
import { basename, resolve } from "node:path";
import { findManifest } from "@openenv-ts/providers/manifest";
import type { Command } from "commander";
import { ConfigError, imageName } from "openenv-ts/internal";
import { type BuiltImage, buildImage, DOCKERFILES, findDockerfile, type ImageOptions } from "../image/build-image.js";
import { measureStart } from "../image/measure-start.js";
import { standaloneFolder } from "../image/standalone-folder.js";
import { parseSettings } from "../push/settings.js";
import { abortOnSignals } from "../terminal/interrupt.js";
import { repeatable } from "../terminal/option-values.js";
import { exit, print, printProgress } from "../terminal/output.js";

const EXAMPLES = `
Runs docker build on the folder, then starts the image once, to say how long it takes until a reset is answered. The
Dockerfile is ${DOCKERFILES.join(" or ")}; docker build -f server/Dockerfile . builds the same image. Of a package of an
npm workspace a copy is built that has its own lock file.

Exit codes: 0 built and starts, 1 failed, 2 wrong usage.

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
    .option("-t, --tag <name>", "name of the image (default openenv-<name of the environment>)")
    .option("-f, --file <path>", "the Dockerfile")
    .option("--build-arg <name=value>", "variable of the build; can be repeated", repeatable, [])
    .option("--env <name=value>", "variable for the start of the image; can be repeated", repeatable, [])
    .option("--no-cache", "build every layer again")
    .option("--json", "print image, size in bytes and times in seconds as JSON")
    .addHelpText("after", EXAMPLES)
    .action(build);
}

async function build(target: string, flags: BuildFlags): Promise<void> {
  const { tag: givenTag, file, buildArg, cache, json } = flags;
  const given = parseSettings("--env", flags.env);
  const dir = resolve(target);
  if (!statSync(dir, { throwIfNoEntry: false })?.isDirectory()) {
    throw new ConfigError(`${target} is no folder; give the folder of an environment.`);
  }
  const manifest = await findManifest(dir);
  const name = manifest?.name ?? basename(dir);
  const tag = givenTag === undefined ? imageName(name) : checkTag(givenTag);
  const signal = abortOnSignals();

  const begun = performance.now();
  const onStep = (step: string): void => printProgress(`building ${tag}: ${step}`);
  const image = await buildStandalone({ dir, name, tag, file, buildArgs: buildArg, noCache: !cache, signal, onStep });
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
Built ${tag} in ${buildSeconds} s: ${megabytes(image.bytes)}, answers a reset ${startSeconds} s after its start.

${renderRun(tag, manifest?.port ?? 8000)}`;
  print(json ? JSON.stringify(result) : text.trimStart());
  exit(0);
}

async function buildStandalone(options: ImageOptions): Promise<BuiltImage> {
  findDockerfile(options.dir, options.file);
  options.onStep("preparing the folder");
  await using folder = await standaloneFolder(options.dir, options.signal);
  return await buildImage({ ...options, dir: folder.dir });
}

const TAG = /^(?:[A-Za-z0-9.-]+(?::\d+)?\/)?[a-z0-9]+(?:[._/-]+[a-z0-9]+)*(?::\w[\w.-]{0,127})?$/;

function checkTag(tag: string): string {
  if (TAG.test(tag)) return tag;
  throw new ConfigError(
    `${JSON.stringify(tag)} is no name for an image; write small letters and digits, as in registry.example.org/chess:2.`,
  );
}

/** How to start the image, also for more sessions than the proxy of a published port may hold (experiments/PORTS.md). */
function renderRun(tag: string, port: number): string {
  return `  docker run --rm --init -p 127.0.0.1:8000:${port} ${tag}

For thousands of sessions, without the proxy of Docker's published ports:

  docker run --rm --init --network host -e HOST=127.0.0.1 -e PORT=8000 ${tag}`;
}

function secondsSince(begun: number): number {
  return Math.round((performance.now() - begun) / 10) / 100;
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`;
}
