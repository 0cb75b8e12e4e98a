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
 * The owner and name of the Space; the owner is undefined when it is the logged-in user.
 * @throws ConfigError for an invalid Space ID, or two owners.
 */
export function chooseSpace({ repoId, namespace, name }: SpaceNameOptions): {
  owner: string | undefined;
  name: string;
} {
  const parts = (repoId ?? name).split("/");
  const [first = "", second] = parts;
  const owner = second === undefined ? undefined : first;
  if (owner !== undefined && namespace !== undefined && owner !== namespace) {
    throw new ConfigError(`-r has the owner ${owner}, but --namespace is ${namespace}; pass one of them.`);
  }
  const chosen = { owner: owner ?? namespace, name: second ?? first };
  if (parts.length > 2 || !isSpaceId(`${chosen.owner ?? "owner"}/${chosen.name}`)) {
    const given = JSON.stringify(repoId ?? `${namespace}/${name}`);
    throw new ConfigError(`${given} is not a valid Space ID; use owner/name with letters, digits, "-", "_" and ".".`);
  }
  return chosen;
}
