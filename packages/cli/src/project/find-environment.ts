import { existsSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Manifest } from "@openenv-ts/providers/manifest";
import { ConfigError } from "openenv-ts/internal";
import { printNote } from "../terminal/output.js";
import { describePath } from "./bundle.js";

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

/** Finds what {@link findEnvironment} does, with the manifest. @throws ConfigError also for an invalid manifest. */
export async function locateEnvironment(target: string): Promise<FoundEnvironment> {
  const path = resolve(target);
  const stats = statSync(path, { throwIfNoEntry: false });
  if (!stats) throw new ConfigError(`No such file or folder: ${target}. Check the path.`);
  if (!stats.isDirectory()) return { file: path };
  const warnings: string[] = [];
  const manifest = await manifestOf(path, warnings);
  const declared = manifest?.environment;
  const file = declared === undefined ? await searchFolder(path, target, manifest) : join(path, declared);
  for (const warning of warnings) printNote(`warning: ${warning}`);
  if (manifest === undefined) return { file };
  if (statSync(file, { throwIfNoEntry: false })?.isFile()) return { file, manifest };
  throw new ConfigError(
    `No such file: ${describePath(file)}, the environment in openenv.yaml. Correct the path there.`,
  );
}

/** Checks that the file exists first, because loading the manifest reader takes longer. */
async function manifestOf(folder: string, warnings: string[]): Promise<Manifest | undefined> {
  if (!existsSync(join(folder, "openenv.yaml"))) return undefined;
  const { findManifest } = await import("@openenv-ts/providers/manifest");
  return await findManifest(folder, (line) => warnings.push(line));
}

/** `given` is the path as the user typed it. */
async function searchFolder(path: string, given: string, manifest: Manifest | undefined): Promise<string> {
  for (const place of ENVIRONMENT_PLACES) {
    for (const extension of EXTENSIONS) {
      const file = join(path, `${place}.${extension}`);
      if (statSync(file, { throwIfNoEntry: false })?.isFile()) return file;
    }
  }
  const { describePython, isPythonFolder } = await import("@openenv-ts/providers/manifest");
  if (manifest?.runtime === "fastapi" || isPythonFolder(path, manifest?.app))
    throw new ConfigError(describePython(path, manifest?.app));
  throw new ConfigError(
    `No environment in ${given}: searched for ${ENVIRONMENT_PLACES.join(", ")} (.${EXTENSIONS.join(", .")}). ` +
      "Pass its file: openenv serve path/to/environment.ts",
  );
}
