import type { RJSFSchema } from "@rjsf/utils";
import { isObject } from "openenv-ts/internal";
import type { JsonObject } from "openenv-ts/protocol";

/** Every action has it; it can be edited as JSON. */
const HIDDEN_FIELDS = ["metadata"];
const SIMPLE = ["string", "number", "integer", "boolean"];

/** Keywords that hold values, not schemas. */
const KEPT = ["default", "const", "enum", "examples", "required", "type"];
/** Keywords that hold schemas by arbitrary names, which may equal keywords. */
const NAMED = ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"];
/** The form library applies the defaults of such a schema in this way. */
export const DEFAULTS = {
  emptyObjectFields: "populateAllDefaults",
  arrayMinItems: { populate: "requiredOnly" },
} as const;
/** Marks a list of a few values that may repeat. The form library knows several of a few only without repetition. */
export const REPEATS = "x-repeats";
/** Limits the growth when references between schemas are replaced. */
const MAX_REPLACED = 500;

/**
 * Prepares the schema of an action for a form: removes the free-form fields, gives every field and choice a title,
 * turns `X or null` into an X that may be empty, and gives an optional union a choice to leave it out.
 */
export function prepareSchema(schema: JsonObject): RJSFSchema {
  const { title: _title, description: _description, ...own } = replaceReferences(schema);
  const { discriminator, ...shown } = withoutHidden(own);
  if (choicesOf(shown).length === 0) return simplify(shown) as RJSFSchema;
  // The select that chooses the variant of a union needs a label. The form finds the variant of a value by its tag.
  const tag = isObject(discriminator) && { discriminator: { propertyName: discriminator["propertyName"] } };
  return { ...(simplify(shown) as RJSFSchema), ...tag, title: "Kind" };
}

/** An action, or each variant of an action that is a union, without the fields that the form does not show. */
function withoutHidden(schema: JsonObject): JsonObject {
  const copy = { ...schema };
  for (const key of ["anyOf", "oneOf"]) {
    const choices = copy[key];
    if (Array.isArray(choices)) copy[key] = choices.map((one) => (isObject(one) ? withoutHidden(one) : one));
  }
  const fields = copy["properties"];
  if (!isObject(fields)) return copy;
  const shown = Object.entries(fields).filter(([name]) => !HIDDEN_FIELDS.includes(name));
  return { ...copy, properties: Object.fromEntries(shown) };
}

/** Replaces references by their definitions, except recursive ones. */
function replaceReferences(root: JsonObject): JsonObject {
  let replaced = 0;
  const replace = (schema: unknown, seen: readonly string[]): unknown => {
    if (Array.isArray(schema)) return schema.map((item) => replace(item, seen));
    if (!isObject(schema)) return schema;
    const { $ref, ...rest } = schema;
    const target = typeof $ref === "string" && !seen.includes($ref) ? definitionAt($ref, root) : undefined;
    if (typeof $ref === "string" && target && replaced++ < MAX_REPLACED) {
      return replace({ ...target, ...rest }, [...seen, $ref]);
    }
    return mapSchemas(schema, (inner) => replace(inner, seen));
  };
  return replace(root, []) as JsonObject;
}

function definitionAt(reference: string, { $defs }: JsonObject): JsonObject | undefined {
  const name = /^#\/\$defs\/([^/~%]+)$/.exec(reference)?.[1];
  const found = name !== undefined && isObject($defs) && Object.hasOwn($defs, name) ? $defs[name] : undefined;
  return isObject(found) ? found : undefined;
}

function simplify(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(simplify);
  if (!isObject(schema)) return schema;
  const copy = mapSchemas(schema, simplify);
  const required = Array.isArray(copy["required"]) ? copy["required"] : [];
  if (isObject(copy["properties"])) copy["properties"] = prepareFields(copy["properties"], required);
  // The form library supports tuples only with the older keyword.
  if (Array.isArray(copy["prefixItems"]))
    copy["items"] = copy["prefixItems"].map((item, at) => withTitle(item, `Item ${at + 1}`));
  for (const key of ["anyOf", "oneOf"]) {
    const choices = copy[key];
    if (Array.isArray(choices)) copy[key] = unique(choices.flatMap(withoutNesting).map(prepareChoice));
  }
  return mergeNull(mergeFixed(prepareItems(copy)));
}

/** A list of a few values is chosen from them. A new string in a list is empty, where that is valid. */
function prepareItems(schema: JsonObject): JsonObject {
  const { items, uniqueItems } = schema;
  if (!isObject(items)) return schema;
  if (Array.isArray(items["enum"])) return uniqueItems ? schema : { ...schema, uniqueItems: true, [REPEATS]: true };
  const mayBeEmpty = items["type"] === "string" && LIMITS.every((key) => !items[key]) && items["default"] === undefined;
  return mayBeEmpty ? { ...schema, items: { ...items, default: "" } } : schema;
}

/** Keywords of a string that may exclude the empty one. */
const LIMITS = ["minLength", "format", "pattern", "const", "contentEncoding", "contentMediaType"];

/** The schema with every subschema mapped. */
function mapSchemas(schema: JsonObject, replace: (inner: unknown) => unknown): JsonObject {
  const entries = Object.entries(schema).map(([key, value]): [string, unknown] => {
    if (KEPT.includes(key)) return [key, value];
    if (!NAMED.includes(key) || !isObject(value)) return [key, replace(value)];
    return [key, Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, replace(inner)]))];
  });
  return Object.fromEntries(entries);
}

function prepareFields(fields: JsonObject, required: readonly unknown[]): JsonObject {
  return Object.fromEntries(
    Object.entries(fields).map(([name, field]) => {
      const titled = withTitle(field, titleOf(name));
      if (!isObject(titled)) return [name, titled];
      const { default: preset, ...plain } = titled;
      // The form library would mix a default object with the defaults of its fields, so the server applies it.
      if (typeof preset === "object" && preset !== null) return [name, makeOptional(plain)];
      if (preset !== undefined) return [name, titled];
      return [name, required.includes(name) ? withExample(titled) : makeOptional(titled)];
    }),
  );
}

/** A required field starts with the author's example, else with null if that is valid. */
function withExample(field: JsonObject): JsonObject {
  const examples = field["examples"];
  if (Array.isArray(examples) && examples.length > 0) return { ...field, default: examples[0] };
  return takesNull(field) ? { ...field, default: null } : field;
}

function takesNull(field: JsonObject): boolean {
  return (
    [field["type"]].flat().includes("null") || choicesOf(field).some((choice) => isObject(choice) && takesNull(choice))
  );
}

function choicesOf({ anyOf, oneOf }: JsonObject): unknown[] {
  return [anyOf, oneOf].flatMap((choices): unknown[] => (Array.isArray(choices) ? choices : []));
}

/**
 * An optional object is left out as a whole or filled in; otherwise the form library would fill in some of its fields.
 */
function makeOptional(field: JsonObject): JsonObject {
  if ("const" in field) {
    const { const: only, ...rest } = field;
    return { ...rest, enum: [only] };
  }
  const choices = choicesOf(field);
  if (choices.length > 0) {
    const key = "oneOf" in field ? "oneOf" : "anyOf";
    return { ...field, [key]: [LEFT_OUT, ...choices] };
  }
  if (!("properties" in field || "prefixItems" in field || "$ref" in field)) return field;
  const { title, description, ...whole } = field;
  return { title, ...(description ? { description } : {}), anyOf: [LEFT_OUT, { ...whole, title: "Fill in" }] };
}

/** The first choice means that the field is absent. It matches nothing, not even null. */
const LEFT_OUT = { type: "null", title: "Leave out", not: {} };

/** A field without a title gets its name as title. */
function withTitle(schema: unknown, title: string): unknown {
  return isObject(schema) && schema["title"] === undefined ? { ...schema, title } : schema;
}

function titleOf(name: string): string {
  const words = name.replaceAll("_", " ").trim();
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** Flattens a choice that is itself a union. */
function withoutNesting(choice: unknown): unknown[] {
  if (!isObject(choice)) return [choice];
  const inner = choicesOf(choice);
  const isOnlyUnion = Object.keys(choice).every((key) => ["anyOf", "oneOf", "title", "description"].includes(key));
  return inner.length > 0 && isOnlyUnion ? inner : [choice];
}

function unique(choices: unknown[]): unknown[] {
  return [...new Map(choices.map((choice) => [JSON.stringify(choice), choice])).values()];
}

/** A union of constants is an enum. */
function mergeFixed(schema: JsonObject): JsonObject {
  const { anyOf: _anyOf, oneOf: _oneOf, ...rest } = schema;
  const values = choicesOf(schema).map((choice): unknown[] | undefined => {
    if (!isObject(choice)) return undefined;
    if (Array.isArray(choice["enum"])) return choice["enum"];
    if ("const" in choice) return [choice["const"]];
    return choice["type"] === "null" ? [null] : undefined;
  });
  if (values.length === 0 || values.includes(undefined)) return schema;
  return { ...rest, enum: [...new Set(values.flat())] };
}

/** A null choice gets null as its default. */
function prepareChoice(choice: unknown): unknown {
  const titled = withTitle(choice, choiceTitle(choice));
  return isObject(titled) && titled["type"] === "null" ? { ...titled, default: null } : titled;
}

/** A choice is named by its constant, else by its type. */
function choiceTitle(choice: unknown): string {
  if (!isObject(choice)) return "Choice";
  const fields = isObject(choice["properties"]) ? Object.values(choice["properties"]) : [];
  const fixed = fields.find((field) => isObject(field) && "const" in field) as JsonObject | undefined;
  if (fixed) return String(fixed["const"]);
  if ("const" in choice) return String(choice["const"]);
  return choice["type"] === "null" ? "None" : String(choice["type"] ?? "Choice");
}

function mergeNull(schema: JsonObject): JsonObject {
  const choices = schema["anyOf"] ?? schema["oneOf"];
  if (!Array.isArray(choices) || choices.length !== 2) return schema;
  const other = choices.find((choice) => isObject(choice) && choice["type"] !== "null") as JsonObject | undefined;
  const hasNull = choices.some((choice) => isObject(choice) && choice["type"] === "null");
  if (!hasNull || !other || !SIMPLE.includes(String(other["type"])) || "enum" in other) return schema;
  const { anyOf: _anyOf, oneOf: _oneOf, ...rest } = schema;
  const { title: _title, ...inner } = other;
  return { ...inner, ...rest, type: [other["type"], "null"] };
}
