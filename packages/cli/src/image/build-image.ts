import { existsSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { ConfigError } from "openenv-ts/internal";
import { describePath } from "../project/bundle.js";
import { runDocker } from "./docker.js";

export interface ImageOptions {
  /** Folder of the environment, which is the context of the build. */
  dir: string;
  /** Name of the environment, for the labels. */
  name: string;
  tag: string;
  /** Default `server/Dockerfile`, else `Dockerfile` of the folder. */
  file?: string | undefined;
  /** `NAME=VALUE`, or `NAME` for the value of the environment variable, as docker takes them. */
  buildArgs?: readonly string[];
  noCache?: boolean;
  signal: AbortSignal;
  /** Told of every step of the build. */
  onStep(step: string): void;
}

export interface BuiltImage {
  id: string;
  /** Size of the whole image, its base included. */
  bytes: number;
}

/** Where a Dockerfile is looked for, in this order. */
export const DOCKERFILES = ["server/Dockerfile", "Dockerfile"] as const;

/**
 * Builds the image of an environment with the docker command, with either of its builders.
 * @throws ConfigError without a Dockerfile, ProviderError without an engine, OpenEnvError BUILD_FAILED.
 */
export async function buildImage(options: ImageOptions): Promise<BuiltImage> {
  const { dir, name, tag, buildArgs = [], noCache = false, signal, onStep } = options;
  const args = [
    "build",
    ...["--file", findDockerfile(dir, options.file)],
    ...["--tag", tag],
    ...["--label", `org.opencontainers.image.title=${name}`],
    ...["--label", `openenv.environment=${name}`],
    ...buildArgs.flatMap((pair) => ["--build-arg", pair]),
    ...(noCache ? ["--no-cache"] : []),
    // Without it the container of a step that fails stays.
    "--force-rm",
    dir,
  ];
  const onLine = (line: string): void => {
    const step = parseStep(line);
    if (step !== undefined) onStep(step);
  };
  await runDocker(args, { onLine, signal });
  const [id = "", bytes] = (await runDocker(["image", "inspect", "-f", "{{.Id}} {{.Size}}", tag])).split(" ");
  return { id, bytes: Number(bytes) };
}

/** @throws ConfigError that says where it was looked for. */
export function findDockerfile(dir: string, file?: string): string {
  if (file !== undefined) {
    if (statSync(file, { throwIfNoEntry: false })?.isFile()) return resolve(file);
    throw new ConfigError(`There is no Dockerfile ${file}; check the path.`);
  }
  const found = DOCKERFILES.map((place) => join(dir, place)).find((path) => existsSync(path));
  if (found !== undefined) return found;
  throw new ConfigError(
    `No ${DOCKERFILES.join(" and no ")} in ${describePath(dir)}; name it with -f, or take the one that \`openenv init\` writes.`,
  );
}

/** `Step 3/20 : RUN npm ci` of the older builder, `#7 [build 2/3] RUN npm ci` of BuildKit. */
function parseStep(line: string): string | undefined {
  const [, count, text] = /^Step (\d+\/\d+) : (.*)$/.exec(line) ?? /^#\d+ \[(.*\d+\/\d+)\] (.*)$/.exec(line) ?? [];
  return count === undefined ? undefined : `${count} ${text}`;
}
