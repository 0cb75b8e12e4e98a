import type { JsonObject } from "../../protocol/messages.js";
import { isObject } from "../../util/is-object.js";
import { toClassName } from "../../util/text/class-name.js";

const PREFIX = "#/$defs/";
/** The name that zod gives to a recursive type. */
const UNNAMED = /^__schema\d+$/;

/**
 * The schema with readable names of its definitions: those in `wanted`, and for a recursive type its title or the field
 * that has the type. A name that is taken gets a number.
 */
export function nameDefinitions(root: JsonObject, wanted: ReadonlyMap<string, string>): JsonObject {
  const given = root["$defs"];
  if (!isObject(given)) return root;
  const fields = new Map<string, string>();
  findFields(root, "", fields);
  const names = new Map<string, string>();
  const used = new Set(Object.keys(given));
  for (const [key, name] of wanted) if (key in given) names.set(key, unused(name, used));
  for (const [key, definition] of Object.entries(given)) {
    if (!UNNAMED.test(key)) continue;
    const title = isObject(definition) ? definition["title"] : undefined;
    names.set(key, unused(toClassName(String(title ?? fields.get(key))) || "Recursive", used));
  }
  return names.size === 0 ? root : (rename(root, names) as JsonObject);
}

function unused(wanted: string, used: Set<string>): string {
  let name = wanted;
  for (let i = 2; used.has(name); i++) name = `${wanted}${i}`;
  used.add(name);
  return name;
}

/** Finds the name of the first field that refers to each definition. */
function findFields(part: unknown, field: string, found: Map<string, string>): void {
  if (Array.isArray(part)) {
    for (const item of part) findFields(item, field, found);
  } else if (isObject(part)) {
    const { $ref, properties, ...others } = part;
    const key = keyOf($ref);
    if (key !== undefined && !found.has(key)) found.set(key, field);
    for (const [name, member] of Object.entries(isObject(properties) ? properties : {}))
      findFields(member, name, found);
    for (const value of Object.values(others)) findFields(value, field, found);
  }
}

function rename(part: unknown, names: ReadonlyMap<string, string>): unknown {
  if (Array.isArray(part)) return part.map((item) => rename(item, names));
  if (!isObject(part)) return part;
  const { $ref, $defs } = part;
  const copy = Object.fromEntries(Object.entries(part).map(([key, value]) => [key, rename(value, names)]));
  const name = names.get(keyOf($ref) ?? "");
  if (name !== undefined) copy["$ref"] = PREFIX + name;
  if (isObject($defs)) {
    const renamed = Object.entries(copy["$defs"] as JsonObject);
    copy["$defs"] = Object.fromEntries(renamed.map(([key, value]) => [names.get(key) ?? key, value]));
  }
  return copy;
}

function keyOf($ref: unknown): string | undefined {
  return typeof $ref === "string" && $ref.startsWith(PREFIX) ? $ref.slice(PREFIX.length) : undefined;
}
