import { asList, type SchemaNode } from "./node.js";

const LOWER = ["minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"];
const UPPER = ["maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"];
/** Keywords that bound numbers, lengths and counts. */
const BOUNDS: readonly string[] = [...LOWER, ...UPPER];
/** Keywords whose values have no order: a different value allows different things. */
const EXACT: readonly string[] = ["multipleOf", "pattern", "format", "uniqueItems"];

/** `narrowed`: fewer values are valid than before (true), more (false), or different ones (`both`). */
export interface LimitChange {
  narrowed: boolean | "both";
  what: string;
}

/** Compares limits of numbers, lengths and strings. */
export function limitChanges(old: SchemaNode, next: SchemaNode): LimitChange[] {
  const changes: LimitChange[] = [];
  for (const keyword of BOUNDS) {
    const [was, is] = [boundOf(old, keyword), boundOf(next, keyword)];
    if (was === is) continue;
    changes.push({ narrowed: is > was, what: describe(keyword, old, next) });
  }
  for (const keyword of EXACT) {
    const [was, is] = [old[keyword] || undefined, next[keyword] || undefined];
    if (was === is) continue;
    const narrowed = was === undefined ? true : is === undefined ? false : "both";
    changes.push({ narrowed, what: describe(keyword, old, next) });
  }
  return changes;
}

/** Compares the number of items of tuples. */
export function itemChanges(old: SchemaNode, next: SchemaNode): LimitChange[] {
  const [was, is] = [asList(old["prefixItems"]).length, asList(next["prefixItems"]).length];
  if (was === is) return [];
  return [{ narrowed: "both", what: `has ${is} items instead of ${was}` }];
}

function describe(keyword: string, old: SchemaNode, next: SchemaNode): string {
  const [was, is] = [old[keyword], next[keyword]];
  if (was === undefined) return `now has ${keyword} ${JSON.stringify(is)}`;
  return is === undefined
    ? `no longer has ${keyword}`
    : `has ${keyword} ${JSON.stringify(is)} instead of ${JSON.stringify(was)}`;
}

/** The value of a bound, negated for an upper bound, so that a larger result allows fewer values. */
function boundOf(node: SchemaNode, keyword: string): number {
  const value = node[keyword];
  if (typeof value === "number") return UPPER.includes(keyword) ? -value : value;
  // A minimum length of 0, which some renderers include, is the default.
  return /^min[LIP]/.test(keyword) ? 0 : Number.NEGATIVE_INFINITY;
}
