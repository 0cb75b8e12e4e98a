import type { RJSFSchema } from "@rjsf/utils";

/** Describes the type of a field: `integer, 1–10`, `array of string, 1–20`. */
export function typeHint(schema: RJSFSchema): string {
  if (schema.const !== undefined) return "fixed";
  if (schema.enum) return "enum";
  if (schema.anyOf || schema.oneOf) return unionHint([...(schema.anyOf ?? []), ...(schema.oneOf ?? [])]);
  const types = [schema.type ?? []].flat();
  const named = types.filter((type) => type !== "null");
  const optional = types.includes("null") ? " or null" : "";
  if (named[0] === "array") return `array${itemHint(schema)}${span(schema.minItems, schema.maxItems)}`;
  if (named[0] === "string") {
    return `${schema.format ?? "string"}${span(schema.minLength, schema.maxLength).replace(",", "")}${optional}`;
  }
  return named.length > 0 ? `${named.join(" or ")}${span(schema.minimum, schema.maximum)}${optional}` : "";
}

/** The hint of an optional object is that of its schema. */
function unionHint(choices: RJSFSchema["anyOf"] & object): string {
  const [only, ...others] = choices.filter((choice) => typeof choice === "object" && choice.type !== "null");
  return typeof only === "object" && others.length === 0 ? typeHint(only) : "union";
}

function itemHint({ items }: RJSFSchema): string {
  if (typeof items !== "object" || Array.isArray(items) || items.type === undefined) return "";
  return ` of ${[items.type].flat().join(" or ")}`;
}

/** Omits limits that nobody reaches by hand. */
function span(least: number | undefined, most: number | undefined): string {
  const low = least !== undefined && Math.abs(least) < BIG ? least : undefined;
  const high = most !== undefined && Math.abs(most) < BIG ? most : undefined;
  if (low === undefined && high === undefined) return "";
  if (high === undefined) return low === 0 ? "" : `, ${low} or more`;
  if (low === high) return `, ${low}`;
  return low === undefined ? `, up to ${high}` : `, ${low}–${high}`;
}

const BIG = 10_000;
