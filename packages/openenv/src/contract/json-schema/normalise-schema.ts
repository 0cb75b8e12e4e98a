import type { JsonObject } from "../../protocol/messages.js";
import { UNREPRESENTABLE } from "./to-json-schema.js";

export interface NormalFields {
  $defs?: JsonObject;
  properties: JsonObject;
  required?: unknown;
}

/** The last step for each normalised field. */
type Finish = (schema: JsonObject, name: string) => JsonObject;

/**
 * Converts zod's JSON Schema of an object to the shape of the Python package: sorted keys, titled fields, `anyOf` for
 * nullable fields, no safe-integer limits. Nested objects are converted in the same way. Schemas of tools have only the
 * author's titles.
 * @throws TypeError naming the field when a type has no JSON form.
 */
export function normaliseFields(root: JsonObject, part: string, finish: Finish = titled): NormalFields {
  const properties = named(root["properties"], (schema, name) =>
    finish(normalise(schema, `${part}.${name}`, finish), name),
  );
  const result: NormalFields = { properties, ...normaliseDefinitions(root, finish) };
  if (root["required"]) result.required = root["required"];
  return result;
}

/** The `$defs` of a schema, converted like fields. */
export function normaliseDefinitions(root: JsonObject, finish: Finish = titled): { $defs?: JsonObject } {
  if (!root["$defs"]) return {};
  const define: Finish = (schema, name) => sorted({ title: name, ...normalise(schema, name, finish) });
  return { $defs: named(root["$defs"], define, true) };
}

function normalise(schema: unknown, path: string, finish: Finish): JsonObject {
  if (typeof schema !== "object" || schema === null) return schema as never;
  const json = splitTypes({ ...(schema as JsonObject) });
  if (UNREPRESENTABLE in json) throw noJsonForm(String(json[UNREPRESENTABLE]), path);
  dropZodLimits(json);
  for (const key of ["anyOf", "oneOf", "allOf", "prefixItems"]) {
    const list = json[key];
    if (Array.isArray(list))
      json[key] = list.map((item, i) => normalise(item, key === "prefixItems" ? `${path}[${i}]` : path, finish));
  }
  if (json["properties"]) {
    json["properties"] = named(json["properties"], (field, name) =>
      finish(normalise(field, `${path}.${name}`, finish), name),
    );
  }
  if (json["items"]) json["items"] = normalise(json["items"], `${path}[]`, finish);
  const others = json["additionalProperties"];
  if (typeof others === "object" && others !== null) {
    json["additionalProperties"] = Object.keys(others).length === 0 ? true : normalise(others, `${path}.*`, finish);
  }
  return sorted(json);
}

/** `type: [a, null]` → `anyOf`, as the Python package writes nullable types. */
function splitTypes(json: JsonObject): JsonObject {
  if (!Array.isArray(json["type"])) return json;
  const { type, title, description, default: fallback, ...rest } = json;
  const anyOf = (type as string[]).map((one) => (one === "null" ? { type: one } : { ...rest, type: one }));
  const outer: JsonObject = { anyOf };
  for (const [key, value] of Object.entries({ title, description, default: fallback })) {
    if (key in json) outer[key] = value;
  }
  return outer;
}

function dropZodLimits(json: JsonObject): void {
  if (json["type"] === "integer") {
    if (json["minimum"] === Number.MIN_SAFE_INTEGER) delete json["minimum"];
    if (json["maximum"] === Number.MAX_SAFE_INTEGER) delete json["maximum"];
  }
  // Keys of a JSON object are always strings.
  const keys = json["propertyNames"];
  if (typeof keys === "object" && keys !== null && Object.keys(keys).join() === "type") delete json["propertyNames"];
  if (json["prefixItems"] && json["items"] === false) delete json["items"];
}

/** A field has a title unless it only refers to a named schema. */
function titled(schema: JsonObject, name: string): JsonObject {
  if ("title" in schema || isReference(schema)) return schema;
  return sorted({ ...schema, title: titleOf(name) });
}

function isReference(schema: JsonObject): boolean {
  if ("$ref" in schema) return true;
  const members = schema["anyOf"] as JsonObject[] | undefined;
  return members?.length === 2 && members.some((one) => "$ref" in one) && members.some((one) => one["type"] === "null");
}

/** `episode_id` → `Episode Id`. */
function titleOf(name: string): string {
  return name
    .replaceAll("_", " ")
    .replace(/[A-Za-z]+/g, (word) => word.charAt(0).toUpperCase() + word.slice(1).toLowerCase());
}

function named(schemas: unknown, render: Finish, sort = false): JsonObject {
  const entries = Object.entries(schemas as Record<string, JsonObject>);
  if (sort) entries.sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([name, schema]) => [name, render(schema, name)]));
}

export function sorted(json: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(json).sort(([a], [b]) => (a < b ? -1 : 1)));
}

const ADVICE: Record<string, string> = {
  date: "use datetime()",
  map: "use z.record()",
  set: "use z.array()",
  bigint: "use z.int(), or z.string() for digits beyond 2^53",
  transform: "a transform does not declare the type of its result; declare the final type, or add .meta({ type: … })",
  custom: "declare its type with .meta({ type: … }), or use bytes() for binary data",
  undefined: "use .optional()",
  nan: "use z.number(); NaN is sent as null",
  symbol: "use z.string()",
};

function noJsonForm(type: string, path: string): TypeError {
  return new TypeError(`${path}: z.${type}() has no JSON form; ${ADVICE[type] ?? "use a type that JSON has"}.`);
}
