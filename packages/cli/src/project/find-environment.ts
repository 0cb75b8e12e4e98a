import { existsSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Manifest } from "@openenv-ts/providers/manifest";
import { ConfigError } from "openenv-ts/internal";
import { describePath } from "./bundle.js";
import { isPythonFolder, rejectPython } from "./python-folder.js";

/** Where a folder's environment is looked for, in this order; sources come before what was built from them. */
export const ENVIRONMENT_PLACES = [
  "server/environment",
  "environment",
  "src/server/environment",
  "src/environment",
  "dist/server/environment",
  "dist/environment",
] as const;
const EXTENSIONS = ["ts", "mts", "js", "mjs"];

/** A module of an environment, and the manifest of the folder that was named, where it has one. */
export interface FoundEnvironment {
  /** Absolute. */
  file: string;
  manifest?: Manifest;
}

/**
 * Returns the absolute path of the module that a file or folder names.
 * @throws ConfigError when there is none.
 */
export async function findEnvironment(target: string): Promise<string> {
  return (await locateEnvironment(target)).file;
}

/** As {@link findEnvironment}. @throws ConfigError also for what is wrong in the manifest. */
export async function locateEnvironment(target: string): Promise<FoundEnvironment> {
  const path = resolve(target);
  const stats = statSync(path, { throwIfNoEntry: false });
  if (!stats) throw new ConfigError(`There is no file or folder ${target}; check the path.`);
  if (!stats.isDirectory()) return { file: path };
  const manifest = await manifestOf(path);
  if (manifest === undefined) return { file: searchFolder(path, target) };
  if (manifest.environment === undefined) return { file: searchFolder(path, target, manifest.app), manifest };
  const file = join(path, manifest.environment);
  if (statSync(file, { throwIfNoEntry: false })?.isFile()) return { file, manifest };
  throw new ConfigError(
    `There is no file ${describePath(file)}, which openenv.yaml names as the environment; correct it there.`,
  );
}

/** Reading one takes longer than to see that there is none. */
async function manifestOf(folder: string): Promise<Manifest | undefined> {
  if (!existsSync(join(folder, "openenv.yaml"))) return undefined;
  const { findManifest } = await import("@openenv-ts/providers/manifest");
  return await findManifest(folder);
}

/** `given` is how it was named. */
function searchFolder(path: string, given: string, app?: string): string {
  for (const place of ENVIRONMENT_PLACES) {
    for (const extension of EXTENSIONS) {
      const file = join(path, `${place}.${extension}`);
      if (statSync(file, { throwIfNoEntry: false })?.isFile()) return file;
    }
  }
  if (isPythonFolder(path, app)) throw rejectPython(path, app);
  throw new ConfigError(
    `No environment in ${given}: looked for ${ENVIRONMENT_PLACES.join(", ")} (.${EXTENSIONS.join(", .")}). ` +
      "Name its file: openenv serve path/to/environment.ts",
  );
}
