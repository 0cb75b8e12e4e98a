import * as z from "zod";
import type { JsonObject } from "../../protocol/messages.js";
import { type ActionSchema, changeObjects, variantNames } from "../action-variants.js";
import { type AnySchema, discriminatorOf, type UnionSchema } from "../zod-tree.js";
import { normaliseDefinitions, sorted } from "./normalise-schema.js";
import { toJsonSchema } from "./to-json-schema.js";

/**
 * Renders a union of objects as Pydantic renders a model that is one: its variants are definitions, and a discriminator
 * says which of its values belongs to which variant. `base` are the fields that each variant has.
 */
export function renderUnion(union: ActionSchema, { title, base }: { title: string; base: JsonObject }): JsonObject {
  const names = variantNames(union);
  const definitions = new Map<AnySchema, string>();
  // Copies, because a variant that is also used inside an action has no base fields there.
  const copies = changeObjects(union, (object) => {
    const { id: _id, ...about } = object.meta() ?? {};
    const copy = object.clone({ ...object._zod.def, catchall: z.never() }).meta(about);
    definitions.set(copy, names.get(object) as string);
    return copy;
  });
  for (const [object, name] of names) definitions.set(object, name);
  const raw = toJsonSchema(copies, "input", definitions);
  const { $defs = {} } = normaliseDefinitions(raw);
  const add = (reference: string): void => {
    const key = reference.slice("#/$defs/".length);
    const variant = $defs[key] as JsonObject;
    $defs[key] = { ...variant, properties: { ...base, ...(variant["properties"] as JsonObject) } };
  };
  const { description } = union.meta() ?? {};
  return sorted({ $defs, ...renderChoice(copies, raw, add), ...(description && { description }), title });
}

/** `oneOf` and `discriminator`, or `anyOf`. Calls `found` with the reference of each variant. */
function renderChoice(schema: ActionSchema, raw: JsonObject, found: (reference: string) => void): JsonObject {
  const { $ref } = raw;
  if (typeof $ref === "string") {
    found($ref);
    return { $ref };
  }
  const union = schema as unknown as UnionSchema;
  const options = union._zod.def.options as readonly ActionSchema[];
  const key = "oneOf" in raw ? "oneOf" : "anyOf";
  const alternatives = (raw[key] as JsonObject[]).map((one, i) => renderChoice(options[i] as ActionSchema, one, found));
  const propertyName = discriminatorOf(union);
  if (propertyName === undefined) return { [key]: alternatives };
  const mapping = options.flatMap((option, i) => {
    const { $ref: reference } = alternatives[i] as JsonObject;
    return [...(option._zod.propValues?.[propertyName] ?? [])].map((tag) => [String(tag), reference]);
  });
  return { discriminator: { mapping: Object.fromEntries(mapping), propertyName }, [key]: alternatives };
}
