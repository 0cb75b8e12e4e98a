import { asList, type Node } from "./schema-variants.js";

const LOWER = ["minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"];
const UPPER = ["maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"];
/** Keywords that bound numbers, lengths and counts. */
export const BOUNDS: readonly string[] = [...LOWER, ...UPPER];
/** Keywords whose values cannot be ordered: another value allows other things. */
export const EXACT: readonly string[] = ["multipleOf", "pattern", "format", "uniqueItems"];

/** The value of a bound, or its negative for an upper one: a larger result allows less. */
export function boundOf(node: Node, keyword: string): number {
  const value = node[keyword];
  if (typeof value === "number") return UPPER.includes(keyword) ? -value : value;
  // A length is never below zero, which some renderers write out.
  return /^min[LIP]/.test(keyword) ? 0 : Number.NEGATIVE_INFINITY;
}

/** Whether the limits of the receiver allow each value that the limits of the sender allow. */
export function limitsFit(sender: Node, receiver: Node): boolean {
  return (
    BOUNDS.every((keyword) => boundOf(receiver, keyword) <= boundOf(sender, keyword)) &&
    EXACT.every((keyword) => !receiver[keyword] || receiver[keyword] === sender[keyword]) &&
    asList(receiver["prefixItems"]).length === asList(sender["prefixItems"]).length
  );
}
