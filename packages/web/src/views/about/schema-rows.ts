import { isObject } from "openenv-ts/internal";
import type { JsonObject } from "openenv-ts/protocol";

/** One field of a schema, as the table shows it. */
export interface FieldRow {
  /** Path with the names of the parents: `home.x`, `points[].y`. */
  path: string;
  type: string;
  /** The default as JSON; else `required` or `optional`. */
  preset: string;
  description: string;
}

const MAX_DEPTH = 4;
const MAX_ROWS = 200;

/** Standard fields of every action or observation, listed after those of the environment. */
const COMMON = ["done", "reward", "metadata"];

/** The fields of an object schema, with nested fields below; empty for a schema without fields. */
export function fieldsOf(schema: JsonObject): FieldRow[] {
  const rows: FieldRow[] = [];
  addFields(schema, { root: schema, rows, prefix: "", depth: 0, seen: [] });
  const isCommon = ({ path }: FieldRow): boolean => COMMON.includes(path);
  return [...rows.filter((row) => !isCommon(row)), ...rows.filter(isCommon)];
}

/** The variants of a schema that is a union of objects, with their names; undefined for any other schema. */
export function variantsOf(schema: JsonObject): { name: string; schema: JsonObject }[] | undefined {
  const choices = choicesOf(schema);
  if (isObject(schema["properties"]) || choices.length === 0) return undefined;
  return choices.flatMap((choice) => {
    const variant = resolve(choice, schema);
    const own = { $defs: schema["$defs"], ...variant };
    return variantsOf(own) ?? [{ name: String(variant["title"] ?? "object"), schema: own }];
  });
}

interface Context {
  root: JsonObject;
  rows: FieldRow[];
  prefix: string;
  depth: number;
  /** References on the path: a schema may be recursive. */
  seen: readonly string[];
}

function addFields(schema: JsonObject, context: Context): void {
  const { root, rows, prefix, depth, seen } = context;
  if (depth >= MAX_DEPTH) return;
  const required = Array.isArray(schema["required"]) ? schema["required"] : [];
  for (const [name, given] of Object.entries(isObject(schema["properties"]) ? schema["properties"] : {})) {
    if (!isObject(given) || rows.length >= MAX_ROWS) continue;
    const path = `${prefix}${name}`;
    rows.push({
      path,
      type: typeOf(given, root),
      preset: presetOf(given, required.includes(name)),
      description: describe(given, root),
    });
    for (const [suffix, inner, reference] of insideOf(given, root)) {
      if (reference !== undefined && seen.includes(reference)) continue;
      const deeper = reference === undefined ? seen : [...seen, reference];
      addFields(inner, { root, rows, prefix: `${path}${suffix}.`, depth: depth + 1, seen: deeper });
    }
  }
}

/** The object schemas in a field, with the path suffix to reach them. */
function insideOf(field: JsonObject, root: JsonObject, suffix = ""): [string, JsonObject, string | undefined][] {
  const { $ref } = field;
  const own = resolve(field, root);
  if (isObject(own["properties"])) return [[suffix, own, typeof $ref === "string" ? $ref : undefined]];
  if (isObject(own["items"])) return insideOf(own["items"], root, `${suffix}[]`);
  const choices = choicesOf(own).filter((choice) => choice["type"] !== "null");
  return choices.length === 1 && choices[0] ? insideOf(choices[0], root, suffix) : [];
}

/** `string`, `integer ≥ 0`, `array of Message`, `"a" or "b"`, `number or null`. */
export function typeOf(field: JsonObject, root: JsonObject): string {
  const own = resolve(field, root);
  const { const: fixed, enum: values, type, items, prefixItems, format } = own;
  if ("const" in own) return JSON.stringify(fixed);
  if (Array.isArray(values)) return join(values.map((value) => JSON.stringify(value)));
  const choices = choicesOf(own);
  if (choices.length > 0) return join([...new Set(choices.map((choice) => typeOf(choice, root)))]);
  if (Array.isArray(prefixItems)) {
    return `[${prefixItems.map((item) => (isObject(item) ? typeOf(item, root) : "any")).join(", ")}]`;
  }
  if (Array.isArray(type)) return join(type.map((one) => String(one)));
  if (type === "array") return isObject(items) ? `array of ${typeOf(items, root)}` : "array";
  if (type === "object" && typeof field["$ref"] === "string") return String(own["title"] ?? "object");
  if (type === "string" && typeof format === "string") return `string, ${format}`;
  return type === undefined ? "any" : `${String(type)}${limitsOf(own)}`;
}

function choicesOf({ anyOf, oneOf }: JsonObject): JsonObject[] {
  const choices = Array.isArray(anyOf) ? anyOf : Array.isArray(oneOf) ? oneOf : [];
  return choices.filter(isObject);
}

/** Larger limits are technical and not shown. */
const BIG = 2 ** 31;

function limitsOf({ minimum, maximum, minLength, maxLength }: JsonObject): string {
  const [low, high] = [minimum ?? minLength, maximum ?? maxLength].map((limit) =>
    typeof limit === "number" && Math.abs(limit) < BIG ? limit : undefined,
  );
  const unit = minLength !== undefined || maxLength !== undefined ? " characters" : "";
  if (low !== undefined && high !== undefined) return ` ${low}–${high}${unit}`;
  if (low !== undefined) return ` ≥ ${low}${unit}`;
  return high === undefined ? "" : ` ≤ ${high.toLocaleString("en")}${unit}`;
}

const MAX_PRESET = 80;

function presetOf(field: JsonObject, required: boolean): string {
  if (!("default" in field)) return required ? "required" : "optional";
  const text = JSON.stringify(field["default"]);
  return text.length > MAX_PRESET ? `${text.slice(0, MAX_PRESET)}…` : text;
}

function describe(field: JsonObject, root: JsonObject): string {
  const text = field["description"] ?? resolve(field, root)["description"];
  return typeof text === "string" ? text : "";
}

/** Resolves `#/$defs/Name`; a dangling reference is an empty schema. */
function resolve(schema: JsonObject, root: JsonObject): JsonObject {
  const { $ref } = schema;
  if (typeof $ref !== "string") return schema;
  let at: unknown = root;
  for (const key of $ref.split("/").slice(1)) at = isObject(at) ? at[key] : undefined;
  return isObject(at) && typeof at["$ref"] !== "string" ? at : {};
}

function join(words: readonly string[]): string {
  return words.length > 6 ? `${words.slice(0, 6).join(" or ")} or ${words.length - 6} more` : words.join(" or ");
}
