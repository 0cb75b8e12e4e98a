import * as z from "zod";

/** Any schema of an author, classic or mini. */
export type AnySchema = z.core.$ZodType;
/** A schema whose `_zod.def.type` tells its kind. */
export type KnownSchema = z.core.$ZodTypes;
export type UnionSchema = z.core.$ZodUnion | z.core.$ZodDiscriminatedUnion;

/** The schema that decides what input is taken, behind optional, default, pipe and the like; stops at a union. */
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
      // z.preprocess: what comes after the function is what the input is held against.
      return ((def.in as KnownSchema)._zod.def.type === "transform" ? def.out : def.in) as KnownSchema;
    default:
      return undefined;
  }
}

/** The schema of a member of an object, record, array or tuple; undefined where anything may stand. */
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

/** What a union chooses between, without null: `X | null` is X where errors and leniency are concerned. */
export function membersOf(union: UnionSchema): AnySchema[] {
  return union._zod.def.options.filter((option) => (option as KnownSchema)._zod.def.type !== "null");
}

export interface TaggedMember {
  tag: string;
  schema: AnySchema;
}

/** The member that the discriminator names; undefined for a plain union, or a value without a known tag. */
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

/** The member of a value, never one that every object inherits (`constructor`, `__proto__`). */
export function read(value: unknown, key: PropertyKey): unknown {
  return has(value, key) ? (value as Record<PropertyKey, unknown>)[key] : undefined;
}

export function has(value: unknown, key: PropertyKey): boolean {
  if (typeof value !== "object" || value === null) return false;
  return Object.hasOwn(value, key) || (key in value && !(key in Object.prototype));
}

/** The name that errors give a schema: its meta id, else its meta title. */
export function nameOf(schema: AnySchema): string | undefined {
  const meta = z.globalRegistry.get(schema);
  return meta?.id ?? meta?.title;
}
