import { existsSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Manifest } from "@openenv-ts/providers/manifest";
import { ConfigError } from "openenv-ts/internal";
import { describePath } from "./bundle.js";
import { isPythonFolder, rejectPython } from "./python-folder.js";

/** The paths that are searched for the environment of a folder, in this order; sources come before build outputs. */
export const ENVIRONMENT_PLACES = [
  "server/environment",
  "environment",
  "src/server/environment",
  "src/environment",
  "dist/server/environment",
  "dist/environment",
] as const;
const EXTENSIONS = ["ts", "mts", "js", "mjs"];

/** The module of an environment, and the manifest of the given folder, if it has one. */
export interface FoundEnvironment {
  /** Absolute. */
  file: string;
  manifest?: Manifest;
}

/**
 * Returns the absolute path of the environment's module for a file or folder.
 * @throws ConfigError when there is none.
 */
export async function findEnvironment(target: string): Promise<string> {
  return (await locateEnvironment(target)).file;
}

/** Like {@link findEnvironment}, with the manifest. @throws ConfigError also for an invalid manifest. */
export async function locateEnvironment(target: string): Promise<FoundEnvironment> {
  const path = resolve(target);
  const stats = statSync(path, { throwIfNoEntry: false });
  if (!stats) throw new ConfigError(`No such file or folder: ${target}. Check the path.`);
  if (!stats.isDirectory()) return { file: path };
  const manifest = await manifestOf(path);
  if (manifest === undefined) return { file: searchFolder(path, target) };
  if (manifest.environment === undefined) return { file: searchFolder(path, target, manifest.app), manifest };
  const file = join(path, manifest.environment);
  if (statSync(file, { throwIfNoEntry: false })?.isFile()) return { file, manifest };
  throw new ConfigError(
    `No such file: ${describePath(file)}, the environment in openenv.yaml. Correct the path there.`,
  );
}

/** Checks that the file exists first, because loading the manifest reader takes longer. */
async function manifestOf(folder: string): Promise<Manifest | undefined> {
  if (!existsSync(join(folder, "openenv.yaml"))) return undefined;
  const { findManifest } = await import("@openenv-ts/providers/manifest");
  return await findManifest(folder);
}

/** `given` is the path as the user typed it. */
function searchFolder(path: string, given: string, app?: string): string {
  for (const place of ENVIRONMENT_PLACES) {
    for (const extension of EXTENSIONS) {
      const file = join(path, `${place}.${extension}`);
      if (statSync(file, { throwIfNoEntry: false })?.isFile()) return file;
    }
  }
  if (isPythonFolder(path, app)) throw rejectPython(path, app);
  throw new ConfigError(
    `No environment in ${given}: searched for ${ENVIRONMENT_PLACES.join(", ")} (.${EXTENSIONS.join(", .")}). ` +
      "Pass its file: openenv serve path/to/environment.ts",
  );
}
