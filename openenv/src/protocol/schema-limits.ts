import { asList, type Node } from "./schema-variants.js";

/** `narrowed`: fewer values fit than before (true), more (false), or others (`both`). */
export interface LimitChange {
  narrowed: boolean | "both";
  what: string;
}

/** Compares limits of numbers, lengths and texts. */
export function limitChanges(old: Node, next: Node): LimitChange[] {
  const changes: LimitChange[] = [];
  for (const [keyword, sign] of BOUNDS) {
    const [was, is] = [bound(old, keyword, sign), bound(next, keyword, sign)];
    if (was === is) continue;
    changes.push({ narrowed: is > was, what: said(keyword, old, next) });
  }
  for (const keyword of ["multipleOf", "pattern", "format", "uniqueItems"]) {
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

/** Sign 1: a larger value lets less through. */
const BOUNDS = [
  ["minimum", 1],
  ["exclusiveMinimum", 1],
  ["minLength", 1],
  ["minItems", 1],
  ["minProperties", 1],
  ["maximum", -1],
  ["exclusiveMaximum", -1],
  ["maxLength", -1],
  ["maxItems", -1],
  ["maxProperties", -1],
] as const;

function bound(node: Node, keyword: string, sign: 1 | -1): number {
  const value = node[keyword];
  if (typeof value === "number") return value * sign;
  // A length is never below zero, which some renderers write out.
  return /^min[LIP]/.test(keyword) ? 0 : Number.NEGATIVE_INFINITY;
}

function said(keyword: string, old: Node, next: Node): string {
  const [was, is] = [old[keyword], next[keyword]];
  if (was === undefined) return `has ${keyword} ${JSON.stringify(is)} now`;
  return is === undefined
    ? `has no ${keyword} any more`
    : `has ${keyword} ${JSON.stringify(is)} instead of ${JSON.stringify(was)}`;
}
