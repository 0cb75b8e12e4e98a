import { readFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { ConfigError } from "openenv-ts";
import { parseManifest } from "./parse-manifest.js";
import { MANIFEST_FILE, type Manifest } from "./schema.js";

/**
 * Reads the manifest of an environment's folder. `onWarning` gets a line for each field that is ignored.
 * @throws ConfigError when there is none, or with the line of each problem.
 */
export async function readManifest(dir: string, onWarning?: (line: string) => void): Promise<Manifest> {
  const manifest = await findManifest(dir, onWarning);
  if (manifest !== undefined) return manifest;
  throw new ConfigError(`No ${MANIFEST_FILE} in ${dir}; pass the folder of an environment, or create the file.`);
}

/** Does the same as {@link readManifest}, but returns undefined for a folder without a manifest. */
export async function findManifest(dir: string, onWarning?: (line: string) => void): Promise<Manifest | undefined> {
  const file = join(dir, MANIFEST_FILE);
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw new ConfigError(`Cannot read ${file} (${(error as Error).message}); it must be a readable file.`);
  }
  return parseManifest(text, shown(file), { dir, ...(onWarning && { onWarning }) });
}

/** The path as a user would type it: relative to the working directory when it is inside. */
function shown(file: string): string {
  const path = relative(process.cwd(), file);
  return path.startsWith("..") ? file : path;
}
