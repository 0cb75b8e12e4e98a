import type { RJSFSchema } from "@rjsf/utils";
import { isObject } from "openenv-ts/internal";
import type { JsonObject } from "openenv-ts/protocol";

/** Every action takes it; whoever needs it writes JSON. */
const HIDDEN_FIELDS = ["metadata"];
const SIMPLE = ["string", "number", "integer", "boolean"];

/** Values, not schemas. */
const KEPT = ["default", "const", "enum", "examples", "required", "type"];
/** Schemas by a name of their author's choice, which may be that of a keyword. */
const NAMED = ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"];
/** How the form library fills in what such a schema presets. */
export const DEFAULTS = {
  emptyObjectFields: "populateAllDefaults",
  arrayMinItems: { populate: "requiredOnly" },
} as const;
/** Schemas that refer to one another could grow without end when the references are replaced. */
const MOST_REPLACED = 500;

/**
 * The schema of an action as a form wants it: without the free-form fields, every field and choice with a title,
 * `X or null` as an X that may be empty, a union that may be left out with a choice that says so.
 */
export function prepareSchema(schema: JsonObject): RJSFSchema {
  const { title: _title, description: _description, ...own } = replaceReferences(schema);
  const fields = own["properties"];
  if (!isObject(fields)) return simplify(own) as RJSFSchema;
  const shown = Object.entries(fields).filter(([name]) => !HIDDEN_FIELDS.includes(name));
  return simplify({ ...own, properties: Object.fromEntries(shown) }) as RJSFSchema;
}

/** Puts each definition where it is referred to, but for one that contains itself. */
function replaceReferences(root: JsonObject): JsonObject {
  let replaced = 0;
  const replace = (schema: unknown, seen: readonly string[]): unknown => {
    if (Array.isArray(schema)) return schema.map((item) => replace(item, seen));
    if (!isObject(schema)) return schema;
    const { $ref, ...rest } = schema;
    const target = typeof $ref === "string" && !seen.includes($ref) ? definitionAt($ref, root) : undefined;
    if (typeof $ref === "string" && target && replaced++ < MOST_REPLACED) {
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
  // The form library knows lists of fixed items by the older keyword.
  if (Array.isArray(copy["prefixItems"]))
    copy["items"] = copy["prefixItems"].map((item, at) => withTitle(item, `Item ${at}`));
  for (const key of ["anyOf", "oneOf"]) {
    const choices = copy[key];
    if (Array.isArray(choices)) copy[key] = unique(choices.flatMap(withoutNesting).map(prepareChoice));
  }
  return mergeNull(mergeFixed(copy));
}

/** The schema with every schema in it replaced. */
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
      // The form library would mix one with parts with the defaults of its parts: it is left to the server.
      if (typeof preset === "object" && preset !== null) return [name, makeOptional(plain)];
      if (preset !== undefined) return [name, titled];
      return [name, required.includes(name) ? withExample(titled) : makeOptional(titled)];
    }),
  );
}

/** What has to be filled in begins with the author's example, else with null where that fits. */
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

/** What has parts is left out as a whole, or filled in: the form library would fill in some of them. */
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

/** The first choice is that of a field that is not there. It fits nothing, also not null. */
const LEFT_OUT = { type: "null", title: "Leave out", not: {} };

/** What zod calls a schema that contains itself and that its author gave no name. */
const UNNAMED = /^__schema\d+$/;

/** Without a title of its own a field is called by its name. */
function withTitle(schema: unknown, title: string): unknown {
  if (!isObject(schema)) return schema;
  const own = schema["title"];
  return own === undefined || (typeof own === "string" && UNNAMED.test(own)) ? { ...schema, title } : schema;
}

function titleOf(name: string): string {
  const words = name.replaceAll("_", " ").trim();
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** A choice that is nothing but a union again is as many choices. */
function withoutNesting(choice: unknown): unknown[] {
  if (!isObject(choice)) return [choice];
  const inner = choicesOf(choice);
  const isOnlyUnion = Object.keys(choice).every((key) => ["anyOf", "oneOf", "title", "description"].includes(key));
  return inner.length > 0 && isOnlyUnion ? inner : [choice];
}

function unique(choices: unknown[]): unknown[] {
  return [...new Map(choices.map((choice) => [JSON.stringify(choice), choice])).values()];
}

/** A union of fixed values is an enum. */
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

/** One that is null has to be filled in when it is chosen. */
function prepareChoice(choice: unknown): unknown {
  const titled = withTitle(choice, choiceTitle(choice));
  return isObject(titled) && titled["type"] === "null" ? { ...titled, default: null } : titled;
}

/** A choice is called by the value that only it has, else by its type. */
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
