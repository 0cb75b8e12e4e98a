import * as z from "zod";
import type { JsonObject } from "../protocol/messages.js";
import { isObject } from "../util/is-object.js";
import type { ActionSchema } from "./action-variants.js";
import { type IsUnion, NOT_AN_ACTION, WRAP } from "./part-types.js";

/** A schema of any library that implements Standard Schema and Standard JSON Schema, both version 1. */
export interface StandardSchema<I = unknown, O = unknown> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => StandardResult<O> | Promise<StandardResult<O>>;
    readonly types?: { readonly input: I; readonly output: O } | undefined;
    readonly jsonSchema?: {
      readonly input: (options: { readonly target: "draft-2020-12" }) => JsonObject;
      readonly output: (options: { readonly target: "draft-2020-12" }) => JsonObject;
    };
  };
}

/** The types of a schema of an object. The rest is checked at run time. */
export interface ObjectStandardSchema {
  readonly "~standard": { readonly types?: { readonly input: object; readonly output: object } | undefined };
}

type StandardResult<O> =
  | { readonly value: O; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] };

interface StandardIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** The zod object with the types of a schema; a zod object is itself. */
export type AsZodObject<S> = S extends z.ZodObject
  ? S
  : S extends { readonly "~standard": { readonly types?: { input: infer I; output: infer O } | undefined } }
    ? z.ZodObject<Fields<I, O>>
    : never;

/** The same as {@link AsZodObject}, but a union keeps the types of its variants. */
export type AsZodAction<S> = S extends ActionSchema
  ? S
  : S extends { readonly "~standard": { readonly types?: { input: infer I; output: infer O } | undefined } }
    ? IsUnion<I> extends true
      ? z.ZodType<O & Record<string, unknown>, I & Record<string, unknown>>
      : z.ZodObject<Fields<I, O>>
    : never;

type Fields<I, O> = {
  -readonly [K in keyof O & string]-?: Field<K extends keyof I ? I[K] : never, O[K], IsOptional<I, K>>;
};
type Field<I, O, Optional> = Optional extends true
  ? undefined extends O
    ? z.ZodOptional<z.ZodType<Exclude<O, undefined>, Exclude<I, undefined>>>
    : z.ZodDefault<z.ZodType<O, Exclude<I, undefined>>>
  : z.ZodType<O, I>;
type IsOptional<I, K> = K extends keyof I ? (Record<never, never> extends Pick<I, K> ? true : false) : true;

/** The zod type with the types of a schema; a zod type is itself. */
export type AsZodType<S> = S extends z.ZodType
  ? S
  : S extends StandardSchema<infer I, infer O>
    ? z.ZodType<O, I>
    : never;

type Direction = "input" | "output";

/**
 * Wraps an object schema of another library in a zod object, which is the only kind that the rest of the package knows.
 * Its fields have the JSON Schemas of that library, and one check of the whole object calls its validation.
 * @throws TypeError naming `place` when the schema is not an object or has no JSON Schema.
 */
export function toZodObject(schema: StandardSchema, place: string, direction: Direction): z.ZodObject {
  const taken = readSchema(schema, place, "input");
  const shown = direction === "input" ? taken : readSchema(schema, place, direction);
  if (taken["type"] !== "object" || !isObject(taken["properties"])) {
    throw new TypeError(`${place} must be an object schema. ${WRAP} ${got(taken)}`);
  }
  const object = toShape(taken, shown);
  const checked = object.check(checkWith(schema, place, Object.keys(object.shape)));
  return checked.meta(namesOf(shown));
}

/**
 * Does the same as {@link toZodObject}, also for a union of objects. It is a discriminated union if each variant has a
 * field with constants that no other variant has.
 */
export function toZodAction(schema: StandardSchema, place: string): ActionSchema {
  const shown = readSchema(schema, place, "input");
  const alternatives = shown["anyOf"] ?? shown["oneOf"];
  if (!Array.isArray(alternatives)) {
    if (shown["type"] !== "object") throw new TypeError(`${NOT_AN_ACTION} ${got(shown)}`);
    return toZodObject(schema, place, "input");
  }
  const shapes = alternatives.filter((one) => isObject(one) && isObject(one["properties"])) as JsonObject[];
  if (shapes.length < alternatives.length) throw new TypeError(`${NOT_AN_ACTION} ${got(shown)}`);
  const tag = findTag(shapes);
  const options = shapes.map((one) => {
    const object = toShape(one, one);
    const tagged = tag === undefined ? object : object.extend({ [tag]: z.literal(constantsOf(one, tag)) });
    // The library sees all members; a stricter check of the contract replaces this.
    return tagged.loose().meta(namesOf(one));
  });
  const union =
    tag === undefined ? z.union(options) : z.discriminatedUnion(tag, options as unknown as [z.ZodObject, z.ZodObject]);
  const keys = new Set(options.flatMap((option) => Object.keys(option.shape)));
  return union.check(checkWith(schema, place, [...keys])).meta(namesOf(shown)) as unknown as ActionSchema;
}

function got(schema: JsonObject): string {
  return `Got the JSON Schema ${JSON.stringify(schema).slice(0, 200)}.`;
}

/** The fields of a JSON Schema as a zod object that checks which are present. */
function toShape(taken: JsonObject, shown: JsonObject): z.ZodObject {
  const required = Array.isArray(taken["required"]) ? (taken["required"] as unknown[]) : [];
  const described = (shown["properties"] ?? {}) as JsonObject;
  const shape = Object.keys(taken["properties"] as JsonObject).map((key) => {
    const field = required.includes(key) ? z.unknown() : z.unknown().optional();
    return [key, field.meta((described[key] ?? {}) as JsonObject)] as const;
  });
  const isStrict = taken["additionalProperties"] === false;
  return (isStrict ? z.strictObject : z.object)(Object.fromEntries(shape));
}

function namesOf({ title, description }: JsonObject): { title?: string; description?: string } {
  return {
    ...(typeof title === "string" && { title }),
    ...(typeof description === "string" && { description }),
  };
}

/** The field whose constants tell the variants apart. */
function findTag(variants: readonly JsonObject[]): string | undefined {
  return Object.keys(variants[0]?.["properties"] as JsonObject).find((key) => {
    const tags = variants.map((variant) => constantsOf(variant, key));
    return tags.every((values) => values.length > 0) && new Set(tags.flat()).size === tags.flat().length;
  });
}

function constantsOf({ properties }: JsonObject, key: string): string[] {
  const field = (properties as JsonObject)[key];
  if (!isObject(field)) return [];
  const values = Array.isArray(field["enum"]) ? (field["enum"] as unknown[]) : [field["const"]];
  return values.every((value) => typeof value === "string") ? values : [];
}

/** Does the same as {@link toZodObject} for any shape. */
export function toZodType(schema: StandardSchema, place: string): z.ZodType {
  const shown = readSchema(schema, place, "output");
  if (shown["type"] === "object" && isObject(shown["properties"])) return toZodObject(schema, place, "output");
  const { $schema: _, ...meta } = shown;
  return z.unknown().check(checkWith(schema, place)).meta(meta);
}

/** Calls the validation of the library; of an object only the given members, because the protocol adds others. */
function checkWith(schema: StandardSchema, place: string, keys?: readonly string[]): z.core.CheckFn<unknown> {
  const { validate } = schema["~standard"];
  return (context) => {
    const { value, issues } = context;
    const result = validate(keys ? pick(value as JsonObject, keys) : value);
    if (result instanceof Promise) {
      throw new TypeError(`${place} has a schema that validates asynchronously. Contracts validate synchronously.`);
    }
    if (result.issues === undefined) {
      context.value = keys ? { ...omit(value as JsonObject, keys), ...(result.value as JsonObject) } : result.value;
      return;
    }
    for (const { message, path = [] } of result.issues) {
      const keysOf = path.map((step) => (typeof step === "object" ? step.key : step));
      issues.push({ code: "custom", message, path: keysOf, input: value });
    }
  };
}

function pick(value: JsonObject, keys: readonly string[]): JsonObject {
  return Object.fromEntries(keys.filter((key) => key in value).map((key) => [key, value[key]]));
}

function omit(value: JsonObject, keys: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(value).filter(([key]) => !keys.includes(key)));
}

function readSchema(schema: StandardSchema, place: string, direction: Direction): JsonObject {
  const { jsonSchema, vendor } = schema["~standard"];
  if (jsonSchema === undefined) {
    const remedy = vendor === "valibot" ? "wrap it in toStandardJsonSchema() of @valibot/to-json-schema" : "use zod";
    throw new TypeError(`${place} is a schema of ${vendor} without "~standard".jsonSchema: ${remedy}.`);
  }
  try {
    return inlined(jsonSchema[direction]({ target: "draft-2020-12" }));
  } catch (cause) {
    throw new TypeError(`${place} has no JSON Schema: ${(cause as Error).message}`, { cause });
  }
}

/** The schema without `$defs`, whose places would be lost with the fields. @throws Error for a recursive schema. */
function inlined(root: JsonObject): JsonObject {
  const { $defs = {}, ...rest } = root;
  const walk = (part: unknown, path: readonly string[]): unknown => {
    if (Array.isArray(part)) return part.map((item) => walk(item, path));
    if (!isObject(part)) return part;
    const { $ref, ...others } = part;
    if (typeof $ref !== "string") return mapValues(part, (value) => walk(value, path));
    const name = /^#\/\$defs\/([^/]+)$/.exec($ref)?.[1];
    if (name === undefined || path.includes(name))
      throw new Error(`it refers to "${$ref}"; use zod for recursive types.`);
    return walk({ ...(($defs as JsonObject)[name] as JsonObject), ...others }, [...path, name]);
  };
  return walk(rest, []) as JsonObject;
}

function mapValues(object: JsonObject, change: (value: unknown) => unknown): JsonObject {
  return Object.fromEntries(Object.entries(object).map(([key, value]) => [key, change(value)]));
}

/** True for a schema of a library that is not zod. */
export function isForeignSchema(schema: unknown): schema is StandardSchema {
  if ((typeof schema !== "object" && typeof schema !== "function") || schema === null) return false;
  return "~standard" in schema && !("_zod" in schema) && !isZod3(schema);
}

export function isZod3(schema: unknown): boolean {
  return typeof schema === "object" && schema !== null && "_def" in schema && !("_zod" in schema);
}
