import type { RJSFSchema } from "@rjsf/utils";
import type { JsonObject } from "../../../openenv/src/protocol/messages.js";
import { isObject } from "../../../openenv/src/util/is-object.js";

/** Every action takes it; whoever needs it writes JSON. */
const HIDDEN_FIELDS = ["metadata"];
const SIMPLE = ["string", "number", "integer", "boolean"];

/** The schema of an action as a form wants it: without the free-form fields, and `X or null` as an X that may be empty. */
export function prepareSchema(schema: JsonObject): RJSFSchema {
  const { properties, ...rest } = schema;
  const shown = isObject(properties)
    ? Object.fromEntries(Object.entries(properties).filter(([name]) => !HIDDEN_FIELDS.includes(name)))
    : undefined;
  const { title: _title, description: _description, ...own } = rest;
  return simplify(shown ? { ...own, properties: shown } : own) as RJSFSchema;
}

function simplify(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(simplify);
  if (!isObject(schema)) return schema;
  const copy: JsonObject = Object.fromEntries(
    Object.entries(schema).map(([key, value]) => [key, KEPT.includes(key) ? value : simplify(value)]),
  );
  if (isObject(copy["properties"])) copy["properties"] = withTitles(copy["properties"]);
  return mergeNull(copy);
}

/** A field without a title is called by its name. */
function withTitles(properties: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(properties).map(([name, field]) => [
      name,
      isObject(field) && field["title"] === undefined ? { ...field, title: titleOf(name) } : field,
    ]),
  );
}

function titleOf(name: string): string {
  const words = name.replaceAll("_", " ").trim();
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** Values, not schemas. */
const KEPT = ["default", "const", "enum", "examples", "required", "type"];

function mergeNull(schema: JsonObject): JsonObject {
  const choices = schema["anyOf"] ?? schema["oneOf"];
  if (!Array.isArray(choices) || choices.length !== 2) return schema;
  const other = choices.find((choice) => isObject(choice) && choice["type"] !== "null") as JsonObject | undefined;
  const hasNull = choices.some((choice) => isObject(choice) && choice["type"] === "null");
  if (!hasNull || !other || !SIMPLE.includes(String(other["type"])) || "enum" in other) return schema;
  const { anyOf: _anyOf, oneOf: _oneOf, ...rest } = schema;
  return { ...rest, ...other, type: [other["type"], "null"] };
}
