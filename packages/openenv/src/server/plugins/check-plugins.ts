import { ConfigError } from "../../errors.js";
import { isObject } from "../../util/is-object.js";
import { findNearest } from "../../util/text/nearest.js";
import type { PluginRoute, ServerPlugin } from "./plugin.js";

const MEMBERS: readonly (keyof ServerPlugin)[] = [
  "name",
  "settings",
  "metrics",
  "authorize",
  "admit",
  "routes",
  "session",
  "start",
  "central",
];
const METHODS = ["GET", "POST", "DELETE"] as const;
const ROUTE_MEMBERS: readonly (keyof PluginRoute)[] = [...METHODS, "access"];
const ACCESS: readonly unknown[] = ["open", "client", "operator", "viewer", undefined];
const NAME = /^[a-z][a-z0-9-]*$/;
const METRIC = /^(?!openenv_|process_)[a-z][a-z0-9_]*$/;

/** Returns the plugins. @throws ConfigError for what is not a plugin, and for a name that two of them have. */
export function checkPlugins(given: readonly unknown[]): readonly ServerPlugin[] {
  const owners = new Map<string, string>();
  for (const plugin of given) {
    const name = checkPlugin(plugin);
    for (const [what, used] of [
      [`the name "${name}"`, name],
      ...Object.keys((plugin as ServerPlugin).metrics ?? {}).map((metric) => [`the metric "${metric}"`, metric]),
    ] as [string, string][]) {
      const owner = owners.get(used);
      if (owner !== undefined)
        throw new ConfigError(`The plugins "${owner}" and "${name}" both have ${what}: rename one.`);
      owners.set(used, name);
    }
  }
  return given as readonly ServerPlugin[];
}

function checkPlugin(plugin: unknown): string {
  if (!isObject(plugin)) throw new ConfigError(`A plugin must be an object with a name, not ${String(plugin)}.`);
  const { name, metrics = {}, routes = {} } = plugin;
  if (typeof name !== "string" || !NAME.test(name)) {
    throw new ConfigError(
      `The name of a plugin must have lower-case letters, digits and hyphens, not "${String(name)}".`,
    );
  }
  checkMembers(`The plugin "${name}"`, plugin, MEMBERS);
  for (const [path, route] of Object.entries(routes as object))
    checkRoute(`The route "${path}" of the plugin "${name}"`, route);
  for (const metric of Object.keys(metrics as object)) {
    if (METRIC.test(metric)) continue;
    throw new ConfigError(
      `The metric "${metric}" of the plugin "${name}" must have lower-case letters, digits and underscores, and not ` +
        "begin with openenv_ or process_.",
    );
  }
  return name;
}

function checkRoute(route: string, given: unknown): void {
  if (!isObject(given)) throw new ConfigError(`${route} must be an object with a handler for each method.`);
  checkMembers(route, given, ROUTE_MEMBERS);
  const { access, ...handlers } = given;
  if (isObject(access)) checkMembers(`${route}, in its access,`, access, METHODS);
  for (const one of isObject(access) ? Object.values(access) : [access]) {
    if (ACCESS.includes(one)) continue;
    throw new ConfigError(`${route} has the access "${String(one)}": it must be open, client, operator or viewer.`);
  }
  for (const [method, handler] of Object.entries(handlers)) {
    if (typeof handler !== "function") throw new ConfigError(`${route} has a ${method} that is not a function.`);
  }
}

/** A misspelled member would never be used. @throws ConfigError. */
function checkMembers(owner: string, given: object, members: readonly string[]): void {
  for (const member of Object.keys(given)) {
    if (members.includes(member)) continue;
    const nearest = findNearest(member, members);
    const advice = nearest === undefined ? `Its members are ${members.join(", ")}.` : `Did you mean ${nearest}?`;
    throw new ConfigError(`${owner} has an unknown member "${member}". ${advice}`);
  }
}
