import { realpath } from "node:fs/promises";
import { join, sep } from "node:path";
import { ConfigError } from "openenv-ts/internal";

/**
 * Resolves a path of the block `validation.execution`, with its symbolic links.
 * @throws ConfigError for a path that does not exist or is outside the package.
 */
export async function findInside(dir: string, path: string, field: string): Promise<string> {
  const root = await realpath(dir);
  const place = await realpath(join(root, path)).catch((): never => {
    throw new ConfigError(`${path} does not exist; create it, or correct validation.execution.${field}.`);
  });
  if (place === root || place.startsWith(root + sep)) return place;
  throw new ConfigError(`${path} is outside the package; correct validation.execution.${field}.`);
}
