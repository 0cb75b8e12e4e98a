import { statSync } from "node:fs";
import { join, resolve } from "node:path";
import { ConfigError } from "../errors.js";
import { describePath } from "./bundle.js";

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

/**
 * Returns the absolute path of the module that a file or folder names.
 * @throws ConfigError when there is none.
 */
export function findEnvironment(target: string): string {
  const path = resolve(target);
  const stats = statSync(path, { throwIfNoEntry: false });
  if (!stats) throw new ConfigError(`There is no file or folder ${target}; check the path.`);
  if (!stats.isDirectory()) return path;
  for (const place of ENVIRONMENT_PLACES) {
    for (const extension of EXTENSIONS) {
      const file = join(path, `${place}.${extension}`);
      if (statSync(file, { throwIfNoEntry: false })?.isFile()) return file;
    }
  }
  throw new ConfigError(
    `No environment in ${describePath(path)}: looked for ${ENVIRONMENT_PLACES.join(", ")} (.${EXTENSIONS.join(", .")}). ` +
      "Name its file: openenv serve path/to/environment.ts",
  );
}
