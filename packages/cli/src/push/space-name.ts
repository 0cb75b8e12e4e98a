import { isSpaceId } from "@openenv-ts/providers/internal";
import { ConfigError } from "openenv-ts/internal";

export interface SpaceNameOptions {
  /** `owner/name` or `name`, as given with `-r`. */
  repoId?: string | undefined;
  namespace?: string | undefined;
  /** Name of the environment. */
  name: string;
}

/**
 * The `owner/name` of the Space; the owner is undefined when it is whoever is logged in.
 * @throws ConfigError for what is no name of a Space, or two owners.
 */
export function chooseSpace({ repoId, namespace, name }: SpaceNameOptions): {
  owner: string | undefined;
  name: string;
} {
  const parts = (repoId ?? name).split("/");
  const [first = "", second] = parts;
  const owner = second === undefined ? undefined : first;
  if (owner !== undefined && namespace !== undefined && owner !== namespace) {
    throw new ConfigError(`-r names the owner ${owner}, and --namespace ${namespace}; give one of them.`);
  }
  const chosen = { owner: owner ?? namespace, name: second ?? first };
  if (parts.length > 2 || !isSpaceId(`${chosen.owner ?? "owner"}/${chosen.name}`)) {
    const given = JSON.stringify(repoId ?? `${namespace}/${name}`);
    throw new ConfigError(`${given} names no Space; write owner/name with letters, digits, "-", "_" and ".".`);
  }
  return chosen;
}
