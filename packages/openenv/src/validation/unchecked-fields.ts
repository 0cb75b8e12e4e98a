import type { ObjectSchema } from "../contract/contract.js";
import type { AnySchema, KnownSchema } from "../contract/zod-tree.js";

/**
 * Names the fields whose parsed value can hold what JSON cannot (functions, cycles, NaN), because the schema lets it
 * pass unseen or makes it itself. Values of all other fields are known to be plain once they are parsed.
 */
export function uncheckedFields(schema: ObjectSchema): string[] {
  return Object.keys(schema.shape).filter((key) => {
    const field = schema.shape[key];
    return field !== undefined && isUnchecked(field, { seen: new Set(), inObject: true });
  });
}

interface Place {
  seen: Set<AnySchema>;
  /** A missing member of an object is left out of JSON; in a list it would turn into null. */
  inObject: boolean;
}

function isUnchecked(schema: AnySchema, place: Place): boolean {
  const { def } = (schema as KnownSchema)._zod;
  const inObject = { seen: place.seen, inObject: true };
  const inList = { seen: place.seen, inObject: false };
  switch (def.type) {
    case "string":
    case "number":
    case "boolean":
    case "null":
    case "never":
    case "enum":
    case "template_literal":
      return false;
    case "literal":
      return def.values.some((value) => typeof value === "bigint" || value === undefined);
    case "array":
      return isUnchecked(def.element, inList);
    case "tuple":
      return (
        def.items.some((item) => isUnchecked(item, inList)) || (def.rest !== null && isUnchecked(def.rest, inList))
      );
    case "record":
      return isUnchecked(def.valueType, inObject);
    case "object": {
      // Nesting without end needs a look at its depth: JSON of the other side ends at some level.
      if (place.seen.has(schema)) return true;
      place.seen.add(schema);
      const open =
        (def.catchall !== undefined && isUnchecked(def.catchall, inObject)) ||
        Object.values(def.shape).some((field) => isUnchecked(field, inObject));
      place.seen.delete(schema);
      return open;
    }
    case "union":
      return def.options.some((option) => isUnchecked(option, place));
    case "intersection":
      return isUnchecked(def.left, place) || isUnchecked(def.right, place);
    case "optional":
      return !place.inObject || isUnchecked(def.innerType, place);
    case "nullable":
    case "default":
    case "prefault":
    case "nonoptional":
    case "readonly":
    case "catch":
      return isUnchecked(def.innerType, place);
    case "pipe":
      return isUnchecked(def.out, place);
    default:
      return true;
  }
}
