import { asList, asNode, type SchemaNode } from "../schema/node.js";
import type { FieldLimits, Type } from "./types.js";

/** The limits of a schema that a Python field of this type can check. The server checks the others. */
export function limitsOf(given: SchemaNode, type: Type): FieldLimits {
  const variants = [given, ...asList(given["anyOf"]).map(asNode)];
  const kinds = (type.kind === "union" ? type.members : [type]).filter(({ kind }) => kind !== "null");
  const [only] = kinds;
  if (kinds.length !== 1 || only === undefined) return {};
  const keys = LIMITS[only.kind] ?? {};
  const limits: FieldLimits = {};
  for (const [key, limit] of Object.entries(keys)) {
    const value = variants.map((variant) => variant[key]).find((one) => typeof one === "number");
    if (typeof value === "number" && isPossible(value, only.kind)) limits[limit] = value;
  }
  return limits;
}

/** Rejects limits that pydantic does not accept: a negative length, or a fraction for an integer. */
function isPossible(limit: number, kind: Type["kind"]): boolean {
  if (kind === "number") return Number.isFinite(limit);
  return Number.isSafeInteger(limit) && (kind === "integer" || limit >= 0);
}

const NUMBERS = { minimum: "ge", exclusiveMinimum: "gt", maximum: "le", exclusiveMaximum: "lt" } as const;
const LIMITS: Partial<Record<Type["kind"], Record<string, keyof FieldLimits>>> = {
  integer: NUMBERS,
  number: NUMBERS,
  string: { minLength: "min_length", maxLength: "max_length" },
  list: { minItems: "min_length", maxItems: "max_length" },
};
