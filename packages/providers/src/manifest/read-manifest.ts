import { readFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { ConfigError } from "openenv-ts/internal";
import { parseManifest } from "./parse-manifest.js";
import { MANIFEST_FILE, type Manifest } from "./schema.js";

/**
 * Reads the manifest of an environment's folder.
 * @throws ConfigError when there is none, or with the line of what is wrong in it.
 */
export async function readManifest(dir: string): Promise<Manifest> {
  const manifest = await findManifest(dir);
  if (manifest !== undefined) return manifest;
  throw new ConfigError(`There is no ${MANIFEST_FILE} in ${dir}; name the folder of an environment, or write one.`);
}

/** As {@link readManifest}, but a folder without one gives undefined. */
export async function findManifest(dir: string): Promise<Manifest | undefined> {
  const file = join(dir, MANIFEST_FILE);
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw new ConfigError(`${file} cannot be read (${(error as Error).message}); it must be a file that you may read.`);
  }
  return parseManifest(text, shown(file));
}

/** As a user would type it: from the working directory on where it lies below. */
function shown(file: string): string {
  const path = relative(process.cwd(), file);
  return path.startsWith("..") ? file : path;
}
