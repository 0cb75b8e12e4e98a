import { canonicalJson } from "../../util/canonical-json.js";
import { isObject } from "../../util/is-object.js";
import { sha256 } from "../../util/text/sha256.js";
import type { SchemaBody } from "../http.js";

/**
 * The same text for equivalent schemas: keys and sets (`required`, `enum`, `type`) are sorted; titles, descriptions and
 * examples are omitted because they do not affect clients.
 */
export function canonicalSchemas(body: SchemaBody): string {
  const parts = ["action", "observation", "reset_observation", "state", "tools"] as const;
  const present = parts.filter((part) => body[part] !== undefined);
  return `{${present.map((part) => `${JSON.stringify(part)}:${canonicalSchema(body[part])}`).join(",")}}`;
}

/** SHA-256 (hex) of {@link canonicalSchemas}. */
export function hashSchemas(body: SchemaBody): Promise<string> {
  return sha256(canonicalSchemas(body));
}

const COSMETIC = new Set(["title", "description", "examples", "$schema", "$comment", "deprecated"]);
/** Their members are schemas by name: a field named `title` is not a title. */
const NAMED = new Set(["properties", "$defs", "definitions", "patternProperties", "dependentSchemas"]);
/** Their values are data. */
const DATA = new Set(["const", "default"]);
const SETS = new Set(["required", "enum", "type"]);

/** The text of one schema, as in {@link canonicalSchemas}. */
export function canonicalSchema(schema: unknown): string {
  if (Array.isArray(schema)) return `[${schema.map(canonicalSchema).join(",")}]`;
  if (typeof schema !== "object" || schema === null) return JSON.stringify(schema) ?? "null";
  return sortedObject(schema, (key, value) => {
    if (COSMETIC.has(key)) return undefined;
    if (NAMED.has(key) && isObject(value)) return sortedObject(value, (_name, member) => canonicalSchema(member));
    if (SETS.has(key) && Array.isArray(value)) return `[${value.map(canonicalJson).sort().join(",")}]`;
    return DATA.has(key) || SETS.has(key) ? canonicalJson(value) : canonicalSchema(value);
  });
}

function sortedObject(object: object, render: (key: string, value: unknown) => string | undefined): string {
  const members: string[] = [];
  for (const key of Object.keys(object).sort()) {
    const text = render(key, (object as Record<string, unknown>)[key]);
    if (text !== undefined) members.push(`${JSON.stringify(key)}:${text}`);
  }
  return `{${members.join(",")}}`;
}
