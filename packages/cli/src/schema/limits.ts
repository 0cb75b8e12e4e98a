import { asList, BOUNDS, boundOf, EXACT, type Node } from "openenv-ts/internal";

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
