import { asList, type Node } from "./schema-variants.js";

const LOWER = ["minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"];
const UPPER = ["maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"];
/** Keywords that bound numbers, lengths and counts. */
export const BOUNDS: readonly string[] = [...LOWER, ...UPPER];
/** Keywords whose values have no order: two different values allow different data. */
export const EXACT: readonly string[] = ["multipleOf", "pattern", "format", "uniqueItems"];

/** The value of a lower bound or the negated value of an upper bound: a larger result is stricter. */
export function boundOf(node: Node, keyword: string): number {
  const value = node[keyword];
  if (typeof value === "number") return UPPER.includes(keyword) ? -value : value;
  // Some renderers write out the minimum length 0, which is the default.
  return /^min[LIP]/.test(keyword) ? 0 : Number.NEGATIVE_INFINITY;
}

/** Whether the receiver's limits allow every value that the sender's limits allow. */
export function limitsFit(sender: Node, receiver: Node): boolean {
  return (
    BOUNDS.every((keyword) => boundOf(receiver, keyword) <= boundOf(sender, keyword)) &&
    EXACT.every((keyword) => !receiver[keyword] || receiver[keyword] === sender[keyword]) &&
    asList(receiver["prefixItems"]).length === asList(sender["prefixItems"]).length
  );
}
