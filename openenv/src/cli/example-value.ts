import type { JsonObject } from "../protocol/messages.js";

/** A small value to start from: it fits its JSON Schema unless that has patterns or formats. */
export function exampleOf(schema: JsonObject, root: JsonObject = schema, depth = 8): unknown {
  // A schema may contain itself.
  if (depth === 0) return null;
  const next = (inner: unknown): unknown => exampleOf((inner ?? {}) as JsonObject, root, depth - 1);
  const { $ref, anyOf, enum: choices } = schema;
  if (typeof $ref === "string") return next(resolveLocal($ref, root));
  if (schema["default"] !== undefined) return schema["default"];
  if (schema["const"] !== undefined) return schema["const"];
  if (Array.isArray(choices)) return choices[0];
  if (Array.isArray(anyOf)) return next(anyOf[0]);
  switch (schema["type"]) {
    case "object":
      return exampleObject(schema, next);
    case "array":
      return Array.from({ length: Number(schema["minItems"] ?? 0) }, () => next(schema["items"]));
    case "string":
      return "hello";
    case "boolean":
      return true;
    case "integer":
    case "number":
      return exampleNumber(schema);
    default:
      return null;
  }
}

function exampleObject({ properties, required }: JsonObject, next: (inner: unknown) => unknown): JsonObject {
  const known = Object.entries((properties ?? {}) as JsonObject);
  const wanted = known.filter(([name]) => Array.isArray(required) && required.includes(name));
  return Object.fromEntries(wanted.map(([name, schema]) => [name, next(schema)]));
}

function exampleNumber({ minimum, exclusiveMinimum, maximum }: JsonObject): number {
  const least = Number(minimum ?? (exclusiveMinimum === undefined ? 1 : Number(exclusiveMinimum) + 1));
  return maximum === undefined ? least : Math.min(least, Number(maximum));
}

/** `#/$defs/Name` */
function resolveLocal(reference: string, root: JsonObject): unknown {
  const keys = reference.split("/").slice(1);
  return keys.reduce<unknown>((at, key) => (at as JsonObject | undefined)?.[key], root);
}
