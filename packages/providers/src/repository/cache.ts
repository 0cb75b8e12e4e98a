import { homedir } from "node:os";
import { join, resolve } from "node:path";

/**
 * Where checkouts are kept: `OPENENV_CACHE`, else `openenv` in the user's cache folder. Absolute. What is finished there
 * can be deleted whenever nothing runs from it.
 */
export function repositoryCache(): string {
  const cache = process.env["XDG_CACHE_HOME"] || join(homedir(), ".cache");
  return resolve(process.env["OPENENV_CACHE"] || join(cache, "openenv"), "repositories");
}
