import { isObject } from "../util/is-object.js";
import type { JsonObject } from "./messages.js";
import { dereference } from "./schema/schema-variants.js";
import { ACTION_TOOL, RESERVED_TOOL_NAMES, type ToolSummary } from "./tools.js";

/** A tool whose arguments are the action, or a variant of an action that is a union. */
export interface ActionTool {
  readonly summary: ToolSummary;
  /** The field of the action that the name of the tool stands for: the discriminator of a union. */
  readonly fixed: JsonObject;
}

/**
 * The tools of an environment without tools: `step`, whose arguments are the action, or one for each variant of a union,
 * named by its discriminator or its class. `about` describes an action that does not, `taken` are names of other tools.
 */
export function toActionTools(
  action: JsonObject,
  { about = "", taken = [] }: { about?: string; taken?: readonly string[] } = {},
): ActionTool[] {
  const variants = variantsOf(action, action);
  if (variants === undefined || variants.length < 2) {
    const [only = { schema: action, fixed: {} }] = variants ?? [];
    return [toTool(only, { name: ACTION_TOOL, about: about || "Takes one action in the environment.", action })];
  }
  const used = new Set(taken);
  return variants.map((variant) => {
    const wanted = toToolName(variant);
    let name = wanted;
    for (let i = 2; used.has(name); i++) name = `${wanted}_${i}`;
    used.add(name);
    return toTool(variant, { name, about: `Takes the action "${variant.name}" in the environment.`, action });
  });
}

/** The call that takes an action, with one of the tools of {@link toActionTools} or, without a fitting one, `step`. */
export function toActionCall(
  action: JsonObject,
  tools: readonly Pick<ToolSummary, "name" | "input_schema">[],
): { name: string; given: JsonObject } {
  // The action is not a union when this tool exists.
  if (tools.some(({ name }) => name === ACTION_TOOL)) return { name: ACTION_TOOL, given: action };
  for (const { name, input_schema } of tools) {
    // A file may have any value here.
    const { properties, required } = isObject(input_schema) ? input_schema : ({} as JsonObject);
    const fields = isObject(properties) ? properties : {};
    const [other, ...others] = Object.keys(action).filter((key) => !Object.hasOwn(fields, key));
    const isComplete = !Array.isArray(required) || required.every((key) => Object.hasOwn(action, String(key)));
    if (!isComplete || others.length > 0) continue;
    if (other === undefined) return { name, given: action };
    const { [other]: tag, ...given } = action;
    if (typeof tag !== "string" && typeof tag !== "number") continue;
    // A discriminator, for which the name of the tool stands.
    if ([name, name.replace(SUFFIX, "")].includes(toValidName(String(tag)))) return { name, given };
  }
  return { name: ACTION_TOOL, given: action };
}

interface Variant {
  schema: JsonObject;
  name: string;
  fixed: JsonObject;
}

/** Undefined when a variant is not an object with fields. */
function variantsOf(given: unknown, root: JsonObject, discriminator?: string): Variant[] | undefined {
  const schema = dereference(given, root) as JsonObject;
  const { oneOf, anyOf = oneOf, properties, title } = schema;
  if (Array.isArray(anyOf)) {
    const key = isObject(schema["discriminator"]) ? schema["discriminator"]["propertyName"] : undefined;
    const found = anyOf.map((one) => variantsOf(one, root, typeof key === "string" ? key : undefined));
    return found.every((variants) => variants !== undefined) ? found.flat() : undefined;
  }
  if (!isObject(properties)) return undefined;
  const field = discriminator === undefined ? undefined : properties[discriminator];
  const tag = isObject(field) ? (field["const"] as unknown) : undefined;
  const reference = isObject(given) && typeof given["$ref"] === "string" ? given["$ref"].split("/").at(-1) : undefined;
  const fixed = discriminator === undefined || tag === undefined ? {} : { [discriminator]: tag };
  return [{ schema, name: String(tag ?? reference ?? title ?? "action"), fixed }];
}

function toTool(
  { schema, fixed }: Pick<Variant, "schema" | "fixed">,
  { name, about, action }: { name: string; about: string; action: JsonObject },
): ActionTool {
  const { description, properties, required, title: _class, $defs: _all, ...rest } = schema;
  // Models do not send metadata.
  const { metadata: _reserved, ...fields } = isObject(properties) ? properties : {};
  for (const key of Object.keys(fixed)) delete fields[key];
  const needed = Array.isArray(required) ? required.filter((key) => !Object.hasOwn(fixed, String(key))) : [];
  const $defs = usedDefinitions(fields, isObject(action["$defs"]) ? action["$defs"] : {});
  const input_schema = {
    ...($defs && { $defs }),
    ...rest,
    properties: fields,
    ...(needed.length > 0 && { required: needed }),
  };
  return {
    summary: { name, description: typeof description === "string" ? description : about, input_schema },
    fixed,
  };
}

/** The definitions to which the fields refer, also indirectly. */
function usedDefinitions(fields: JsonObject, all: JsonObject): JsonObject | undefined {
  const used: JsonObject = {};
  const visit = (part: unknown): void => {
    if (Array.isArray(part)) return part.forEach(visit);
    if (!isObject(part)) return;
    const { $ref } = part;
    const name = typeof $ref === "string" && $ref.startsWith(PREFIX) ? $ref.slice(PREFIX.length) : undefined;
    if (name !== undefined && Object.hasOwn(all, name) && !Object.hasOwn(used, name)) {
      used[name] = all[name];
      visit(all[name]);
    }
    Object.values(part).forEach(visit);
  };
  visit(fields);
  return Object.keys(used).length === 0 ? undefined : used;
}

const PREFIX = "#/$defs/";

/** A tag stays as it is when it is a valid name of a tool; `HotKey` → `hot_key`. */
function toToolName({ name, fixed }: Variant): string {
  const isTag = Object.keys(fixed).length > 0;
  const valid = toValidName(isTag ? name : name.replace(/([a-z0-9])([A-Z])/g, "$1_$2").toLowerCase());
  return RESERVED_TOOL_NAMES.includes(valid) ? `${valid}_action` : valid;
}

/** What a name gets that is taken or reserved. */
const SUFFIX = /_(?:\d+|action)$/;

function toValidName(name: string): string {
  return name.replace(/[^A-Za-z0-9_-]+/g, "_").slice(0, 50) || "action";
}
