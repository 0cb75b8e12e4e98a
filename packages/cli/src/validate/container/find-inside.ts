import { realpath } from "node:fs/promises";
import { join, sep } from "node:path";
import { ConfigError } from "openenv-ts/internal";

/**
 * Where a path of the block `validation.execution` leads, links and all.
 * @throws ConfigError for one that leads nowhere, or out of the package.
 */
export async function findInside(dir: string, path: string, field: string): Promise<string> {
  const root = await realpath(dir);
  const place = await realpath(join(root, path)).catch((): never => {
    throw new ConfigError(`${path} is missing; write it, or correct validation.execution.${field}.`);
  });
  if (place === root || place.startsWith(root + sep)) return place;
  throw new ConfigError(`${path} leads out of the package; correct validation.execution.${field}.`);
}
