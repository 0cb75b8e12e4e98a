import { itemChanges, limitChanges } from "./limits.js";
import { asList, asNode, covers, dereference, type SchemaNode, type SchemaVariant, variantsOf } from "./node.js";

/** `sent` by clients or `received` by them. */
type Direction = "sent" | "received";

export interface FieldChange {
  /** `points[].x`; empty for the root of the schema. */
  path: string;
  /** True when a client of the first version fails, or can misread what it receives. */
  breaking: boolean;
  message: string;
}

/** Lists the changes between two JSON Schemas. Follows local references. */
export function compareSchema(before: unknown, after: unknown, direction: Direction): FieldChange[] {
  const comparison: Comparison = { roots: [asNode(before), asNode(after)], direction, changes: [], open: new Map() };
  compare(comparison, "", comparison.roots);
  return comparison.changes;
}

interface Comparison {
  roots: [SchemaNode, SchemaNode];
  direction: Direction;
  changes: FieldChange[];
  /** Pairs that are being compared, which ends the recursion of recursive schemas. */
  open: Map<SchemaNode, Set<SchemaNode>>;
}

function compare(all: Comparison, path: string, nodes: [unknown, unknown]): void {
  const before = dereference(nodes[0], all.roots[0]);
  const after = dereference(nodes[1], all.roots[1]);
  const pairs = all.open.get(before) ?? new Set();
  if (pairs.has(after)) return;
  all.open.set(before, pairs.add(after));
  const olds = variantsOf(before, all.roots[0]);
  const news = variantsOf(after, all.roots[1]);
  const lost = olds.filter((old) => !news.some((next) => covers(next, old)));
  const gained = news.filter((next) => !olds.some((old) => covers(old, next)));
  compareKinds(all, path, { olds, news, lost, gained });
  // Each variant of the sending side needs a matching variant on the receiving side.
  const [givers, takers] = all.direction === "sent" ? [olds, news] : [news, olds];
  for (const giver of givers) {
    const partners = takers.filter((taker) => isComparable(taker, giver));
    if (partners.length > 0) compareBest(all, path, { giver, partners });
  }
  pairs.delete(after);
}

interface Kinds {
  olds: SchemaVariant[];
  news: SchemaVariant[];
  lost: SchemaVariant[];
  gained: SchemaVariant[];
}

function compareKinds(all: Comparison, path: string, { olds, news, lost, gained }: Kinds): void {
  if (lost.length === olds.length && gained.length === news.length && olds.length > 0 && news.length > 0) {
    add(all, path, { breaking: true, what: `changed from ${list(olds)} to ${list(news)}` });
    return;
  }
  const sent = all.direction === "sent";
  if (lost.length > 0)
    add(all, path, { breaking: sent, what: `no longer ${sent ? "accepts" : "returns"} ${list(lost)}` });
  if (gained.length > 0)
    add(all, path, { breaking: !sent, what: `${sent ? "now also accepts" : "can now also be"} ${list(gained)}` });
}

/** Compares a variant with the partner of the same kind for which the fewest changes are breaking. */
function compareBest(
  all: Comparison,
  path: string,
  { giver, partners }: { giver: SchemaVariant; partners: SchemaVariant[] },
): void {
  let best: FieldChange[] | undefined;
  for (const { node } of partners) {
    const attempt: Comparison = { ...all, changes: [] };
    compareVariant(attempt, path, all.direction === "sent" ? [giver.node, node] : [node, giver.node]);
    if (best === undefined || weigh(attempt.changes) < weigh(best)) best = attempt.changes;
  }
  all.changes.push(...(best ?? []));
}

function weigh(changes: FieldChange[]): number {
  return changes.reduce((sum, { breaking }) => sum + (breaking ? 1000 : 1), 0);
}

function compareVariant(all: Comparison, path: string, [old, next]: [SchemaNode, SchemaNode]): void {
  for (const { narrowed, what } of [...limitChanges(old, next), ...itemChanges(old, next)]) {
    add(all, path, { breaking: narrowed === "both" || narrowed === (all.direction === "sent"), what });
  }
  if ("properties" in old || "properties" in next) compareFields(all, path, [old, next]);
  compareOthers(all, path, [old, next]);
  if (asNode(old["items"]) !== asNode(next["items"])) compare(all, `${path}[]`, [old["items"], next["items"]]);
  const [olds, news] = [asList(old["prefixItems"]), asList(next["prefixItems"])];
  for (let i = 0; i < Math.min(olds.length, news.length); i++) compare(all, `${path}[${i}]`, [olds[i], news[i]]);
}

function compareFields(all: Comparison, path: string, [old, next]: [SchemaNode, SchemaNode]): void {
  const [olds, news] = [asNode(old["properties"]), asNode(next["properties"])];
  const sent = all.direction === "sent";
  for (const key of new Set([...Object.keys(olds), ...Object.keys(news)])) {
    const at = path === "" ? key : `${path}.${key}`;
    const wasRequired = asList(old["required"]).includes(key);
    const isRequired = asList(next["required"]).includes(key);
    if (!Object.hasOwn(news, key)) {
      add(all, at, { breaking: true, what: "was removed" });
    } else if (!Object.hasOwn(olds, key)) {
      if (sent) add(all, at, { breaking: isRequired, what: `was added${isRequired ? " and is required" : ""}` });
      else
        add(all, at, { breaking: false, what: "was added; clients that reject unknown fields need the new contract" });
    } else {
      if (!wasRequired && isRequired)
        add(all, at, { breaking: sent, what: sent ? "is now required" : "is now always present" });
      if (wasRequired && !isRequired) {
        // A field with a default is always sent.
        const absent = !sent && !("default" in asNode(news[key]));
        add(all, at, {
          breaking: absent,
          what: sent ? "is now optional" : absent ? "may now be missing" : "now has a default",
        });
      }
      compare(all, at, [olds[key], news[key]]);
    }
  }
}

/** Compares what is allowed for undeclared fields: nothing, a schema, or anything. */
function compareOthers(all: Comparison, path: string, [old, next]: [SchemaNode, SchemaNode]): void {
  const [was, is] = [othersOf(old), othersOf(next)];
  if (typeof was === "object" && typeof is === "object") compare(all, `${path}.*`, [was, is]);
  const step = openness(is) - openness(was);
  if (step < 0) add(all, path, { breaking: all.direction === "sent", what: "accepts fewer undeclared fields" });
  if (step > 0) add(all, path, { breaking: false, what: "accepts more undeclared fields" });
}

function list(variants: SchemaVariant[]): string {
  return variants.map(({ kind }) => kind).join(" or ");
}

function add(all: Comparison, path: string, { breaking, what }: { breaking: boolean; what: string }): void {
  all.changes.push({ path, breaking, message: `${path === "" ? "the schema" : `"${path}"`} ${what}` });
}

/** True when the limits and fields of two variants can be compared. */
function isComparable(one: SchemaVariant, other: SchemaVariant): boolean {
  return one.kind === other.kind || (isNumber(one) && isNumber(other));
}

/** The fields that an object may have besides its properties: none (false), any (true), or those of a schema. */
function othersOf({ additionalProperties: others }: SchemaNode): boolean | SchemaNode {
  if (others === false) return false;
  return Object.keys(asNode(others)).length === 0 ? true : asNode(others);
}

/** Orders the results of {@link othersOf}: a larger number allows more. */
function openness(others: boolean | object): number {
  return others === false ? 0 : others === true ? 2 : 1;
}

function isNumber({ kind }: SchemaVariant): boolean {
  return kind === "number" || kind === "integer";
}
