import { canonicalSchema } from "openenv-ts/internal";
import { asList, asNode, type SchemaNode } from "../schema/node.js";

const MAX_HOPS = 100;
/** Keywords from which the type of a value follows. All others limit values, which the server checks, or describe them. */
const STRUCTURE = [
  "$ref const enum type properties additionalProperties patternProperties propertyNames items prefixItems",
  "anyOf oneOf allOf not if $dynamicRef $recursiveRef",
]
  .join(" ")
  .split(" ");

/** True when the type of a value depends on this schema; others only limit or describe the value. */
export function hasStructure(schema: SchemaNode): boolean {
  return STRUCTURE.some((key) => key in schema);
}

/** Follows a reference; undefined if it leads nowhere, out of the document or back to itself. */
export function targetOf(reference: string, root: SchemaNode, hops = 0): SchemaNode | undefined {
  if (!/^#(?:\/|$)/.test(reference) || hops > MAX_HOPS) return undefined;
  let current: unknown = root;
  for (const step of reference.split("/").slice(1)) {
    const key = decode(step).replaceAll("~1", "/").replaceAll("~0", "~");
    if (typeof current !== "object" || current === null || !Object.hasOwn(current, key)) return undefined;
    current = (current as SchemaNode)[key];
  }
  if (typeof current !== "object" || current === null) return current === true ? {} : undefined;
  const next = (current as SchemaNode)["$ref"];
  return typeof next === "string" ? targetOf(next, root, hops + 1) : (current as SchemaNode);
}

function decode(step: string): string {
  try {
    return decodeURIComponent(step);
  } catch {
    return step;
  }
}

/** The schema of objects that are valid for all of these schemas; undefined if one of them is not an object. */
export function mergeObjects(parts: readonly SchemaNode[]): SchemaNode | undefined {
  const merged: Record<string, unknown> = { type: "object" };
  const properties: Record<string, unknown> = {};
  const required = new Set<unknown>();
  for (const part of parts) {
    if (!isObjectSchema(part)) return undefined;
    for (const [key, value] of Object.entries(asNode(part["properties"]))) {
      const before = Object.hasOwn(properties, key) ? properties[key] : value;
      properties[key] = canonicalSchema(before) === canonicalSchema(value) ? value : { allOf: [before, value] };
    }
    for (const name of asList(part["required"])) required.add(name);
    for (const key of ["title", "description", "additionalProperties", "patternProperties", "propertyNames"]) {
      if (part[key] !== undefined) merged[key] = part[key];
    }
  }
  return { ...merged, properties, required: [...required] };
}

export function isObjectSchema(schema: SchemaNode): boolean {
  if (["$ref", "const", "enum", "anyOf", "oneOf", "allOf"].some((key) => key in schema)) return false;
  if (schema["type"] !== undefined) return schema["type"] === "object";
  return "properties" in schema || "patternProperties" in schema || "additionalProperties" in schema;
}
