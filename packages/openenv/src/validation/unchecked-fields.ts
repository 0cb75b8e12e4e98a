import type { ObjectSchema } from "../contract/contract.js";
import type { AnySchema, KnownSchema } from "../contract/zod-tree.js";

/**
 * Names the fields whose parsed value can contain values without a JSON form (functions, cycles, NaN), because the
 * schema does not check it or creates it. All other fields are plain JSON after parsing.
 */
export function uncheckedFields(schema: ObjectSchema): string[] {
  return Object.keys(schema.shape).filter((key) => {
    const field = schema.shape[key];
    return field !== undefined && isUnchecked(field, { seen: new Set(), inObject: true });
  });
}

interface Place {
  seen: Set<AnySchema>;
  /** JSON omits an undefined member of an object; in a list it would become null. */
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
      // The depth of a recursive type must be checked, because peers limit the depth of JSON.
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
