import { homedir } from "node:os";
import { join, resolve } from "node:path";

/**
 * The folder for checkouts: `OPENENV_CACHE`, else `openenv` in the user's cache folder. Absolute. A finished checkout
 * can be deleted when nothing runs from it.
 */
export function repositoryCache(): string {
  const cache = process.env["XDG_CACHE_HOME"] || join(homedir(), ".cache");
  return resolve(process.env["OPENENV_CACHE"] || join(cache, "openenv"), "repositories");
}
