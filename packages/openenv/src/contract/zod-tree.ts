import * as z from "zod";

/** Any zod schema, classic or mini. */
export type AnySchema = z.core.$ZodType;
/** A schema with a known kind in `_zod.def.type`. */
export type KnownSchema = z.core.$ZodTypes;
export type UnionSchema = z.core.$ZodUnion | z.core.$ZodDiscriminatedUnion;

/** The schema that decides which input is accepted, inside optional, default, pipe and similar; stops at a union. */
export function unwrap(schema: AnySchema): KnownSchema {
  let current = schema as KnownSchema;
  for (;;) {
    const inner = innerOf(current);
    if (inner === undefined) return current;
    current = inner;
  }
}

function innerOf(schema: KnownSchema): KnownSchema | undefined {
  const { def } = schema._zod;
  switch (def.type) {
    case "optional":
    case "nullable":
    case "default":
    case "prefault":
    case "nonoptional":
    case "readonly":
    case "catch":
      return def.innerType as KnownSchema;
    case "lazy":
      return (schema as z.core.$ZodLazy)._zod.innerType as KnownSchema;
    case "pipe":
      // z.preprocess: the schema after the function checks the input.
      return ((def.in as KnownSchema)._zod.def.type === "transform" ? def.out : def.in) as KnownSchema;
    default:
      return undefined;
  }
}

/** The schema of a member of an object, record, array or tuple; undefined where any value is allowed. */
export function childOf(schema: KnownSchema, key: PropertyKey): AnySchema | undefined {
  const { def } = schema._zod;
  switch (def.type) {
    case "object":
      return Object.hasOwn(def.shape, key) ? def.shape[key as string] : def.catchall;
    case "record":
      return def.valueType;
    case "array":
      return def.element;
    case "tuple":
      return def.items[key as number] ?? def.rest ?? undefined;
    case "intersection":
      return childOf(unwrap(def.left), key) ?? childOf(unwrap(def.right), key);
    default:
      return undefined;
  }
}

/** The options of a union without null: errors and coercion treat `X | null` as X. */
export function membersOf(union: UnionSchema): AnySchema[] {
  return union._zod.def.options.filter((option) => (option as KnownSchema)._zod.def.type !== "null");
}

export interface TaggedMember {
  tag: string;
  schema: AnySchema;
}

/** The member selected by the discriminator; undefined for a plain union or a value without a known tag. */
export function taggedMember(union: UnionSchema, value: unknown): TaggedMember | undefined {
  const key = discriminatorOf(union);
  if (key === undefined) return undefined;
  const tag = read(value, key);
  const schema = union._zod.def.options.find((option) => option._zod.propValues?.[key]?.has(tag as string));
  return schema && { tag: String(tag), schema };
}

export function discriminatorOf(union: UnionSchema): string | undefined {
  return (union as z.core.$ZodDiscriminatedUnion)._zod.def.discriminator;
}

/** The member of a value, excluding those of Object.prototype (`constructor`, `__proto__`). */
export function read(value: unknown, key: PropertyKey): unknown {
  return has(value, key) ? (value as Record<PropertyKey, unknown>)[key] : undefined;
}

export function has(value: unknown, key: PropertyKey): boolean {
  if (typeof value !== "object" || value === null) return false;
  return Object.hasOwn(value, key) || (key in value && !(key in Object.prototype));
}

/** The name of a schema in errors: its meta id, otherwise its meta title. */
export function nameOf(schema: AnySchema): string | undefined {
  const meta = z.globalRegistry.get(schema);
  return meta?.id ?? meta?.title;
}
