import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Manifest } from "@openenv-ts/providers/manifest";
import { ConfigError } from "openenv-ts/internal";
import { findDockerfile } from "../image/build-image.js";
import { standaloneFolder } from "../image/standalone-folder.js";
import { checkPackage } from "./check-package.js";
import { findFiles } from "./find-files.js";
import { renderSpaceReadme } from "./front-matter.js";
import { renderSpaceDockerfile } from "./space-dockerfile.js";

export interface StagedSpace extends AsyncDisposable {
  /** Temporary folder with the files as they are published. */
  readonly dir: string;
  readonly paths: readonly string[];
  readonly bytes: number;
  /** What was left out because it holds secrets. */
  readonly secret: readonly string[];
}

export interface StageOptions {
  dir: string;
  manifest: Manifest;
  base?: string | undefined;
  signal?: AbortSignal;
}

/**
 * Copies an environment into a temporary folder as a Docker Space: the Dockerfile at its root with the interface on, the
 * README with its front matter. Disposal removes the folder.
 * @throws ConfigError for what a Space cannot be made of.
 */
export async function stageSpace({ dir: given, manifest, base, signal }: StageOptions): Promise<StagedSpace> {
  const { secret } = await findFiles(given);
  findDockerfile(given);
  await using folder = await standaloneFolder(given, signal);
  const { dir } = folder;
  const { paths, bytes } = await findFiles(dir);
  const dockerfile = findDockerfile(dir);
  await checkPackage(dir, paths);
  const written = {
    // A Space builds the one at its root only, with that root as the context: the same as docker build -f server/Dockerfile.
    Dockerfile: await renderSpaceDockerfile(await readFile(dockerfile, "utf8"), { base }),
    "README.md": renderSpaceReadme(await readFile(join(dir, "README.md"), "utf8").catch(() => ""), manifest),
  };
  const staged = await mkdtemp(join(tmpdir(), "openenv-push-"));
  const remove = () => rm(staged, { recursive: true, force: true, maxRetries: 3 });
  try {
    for (const path of paths) {
      await mkdir(dirname(join(staged, path)), { recursive: true });
      await cp(join(dir, path), join(staged, path), { errorOnExist: true });
    }
    for (const [path, text] of Object.entries(written)) await writeFile(join(staged, path), text);
    // Two of them would be edited apart.
    await rm(join(staged, "server/Dockerfile"), { force: true });
    const kept = paths.filter((path) => path !== "server/Dockerfile");
    const all = [...new Set([...kept, ...Object.keys(written)])].sort();
    return { dir: staged, paths: all, bytes, secret, [Symbol.asyncDispose]: remove };
  } catch (error) {
    await remove();
    if (error instanceof ConfigError) throw error;
    throw new ConfigError(
      `The files of ${given} cannot be copied (${(error as Error).message}); check them and the disk.`,
    );
  }
}
