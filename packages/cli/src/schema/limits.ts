import { asList, type Node } from "openenv-ts/internal";

const LOWER = ["minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"];
const UPPER = ["maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"];
/** Keywords that bound numbers, lengths and counts. */
const BOUNDS: readonly string[] = [...LOWER, ...UPPER];
/** Keywords whose values cannot be ordered: another value allows other things. */
const EXACT: readonly string[] = ["multipleOf", "pattern", "format", "uniqueItems"];

/** `narrowed`: fewer values fit than before (true), more (false), or others (`both`). */
export interface LimitChange {
  narrowed: boolean | "both";
  what: string;
}

/** Compares limits of numbers, lengths and texts. */
export function limitChanges(old: Node, next: Node): LimitChange[] {
  const changes: LimitChange[] = [];
  for (const keyword of BOUNDS) {
    const [was, is] = [boundOf(old, keyword), boundOf(next, keyword)];
    if (was === is) continue;
    changes.push({ narrowed: is > was, what: said(keyword, old, next) });
  }
  for (const keyword of EXACT) {
    const [was, is] = [old[keyword] || undefined, next[keyword] || undefined];
    if (was === is) continue;
    const narrowed = was === undefined ? true : is === undefined ? false : "both";
    changes.push({ narrowed, what: said(keyword, old, next) });
  }
  return changes;
}

/** Compares the number of items of fixed lists. */
export function itemChanges(old: Node, next: Node): LimitChange[] {
  const [was, is] = [asList(old["prefixItems"]).length, asList(next["prefixItems"]).length];
  if (was === is) return [];
  return [{ narrowed: "both", what: `has ${is} items instead of ${was}` }];
}

function said(keyword: string, old: Node, next: Node): string {
  const [was, is] = [old[keyword], next[keyword]];
  if (was === undefined) return `has ${keyword} ${JSON.stringify(is)} now`;
  return is === undefined
    ? `has no ${keyword} any more`
    : `has ${keyword} ${JSON.stringify(is)} instead of ${JSON.stringify(was)}`;
}

/** The value of a bound, or its negative for an upper one: a larger result allows less. */
function boundOf(node: Node, keyword: string): number {
  const value = node[keyword];
  if (typeof value === "number") return UPPER.includes(keyword) ? -value : value;
  // A length is never below zero, which some renderers write out.
  return /^min[LIP]/.test(keyword) ? 0 : Number.NEGATIVE_INFINITY;
}
