import { isObject } from "../../util/is-object.js";
import { asList, asNode, covers, dereference, type Node, type Variant, variantsOf } from "./schema-variants.js";

/** `sent`: clients send the values of the schema. `received`: clients receive them. */
export type Direction = "sent" | "received";

/** A field whose new schema breaks clients of the old schema. */
export interface BrokenField {
  /** `rooms[].open`; empty for the whole schema. */
  path: string;
  message: string;
}

/**
 * Lists the fields that break clients of the old schema: fields that are removed, newly required, newly optional or of
 * another type in the new schema. Limits are not compared, because the server checks them; `openenv schema diff`
 * compares everything.
 */
export function brokenFields(before: unknown, after: unknown, direction: Direction): BrokenField[] {
  const comparison: Comparison = { roots: [asNode(before), asNode(after)], direction, found: [], compared: new Map() };
  compareNodes(comparison, "", comparison.roots);
  return comparison.found;
}

interface Comparison {
  roots: [Node, Node];
  direction: Direction;
  found: BrokenField[];
  /** Pairs that have been compared: a recursive schema refers to itself. */
  compared: Map<Node, Set<Node>>;
}

function compareNodes(all: Comparison, path: string, nodes: [unknown, unknown]): void {
  const [old, next] = [dereference(nodes[0], all.roots[0]), dereference(nodes[1], all.roots[1])];
  const pairs = all.compared.get(old) ?? new Set();
  if (pairs.has(next)) return;
  all.compared.set(old, pairs.add(next));
  const [olds, news] = [variantsOf(old, all.roots[0]), variantsOf(next, all.roots[1])];
  const [senders, receivers] = all.direction === "sent" ? [olds, news] : [news, olds];
  if (!senders.every((sender) => receivers.some((receiver) => covers(receiver, sender)))) {
    all.found.push({ path, message: `${nameOf(path)} changed from ${list(olds)} to ${list(news)}` });
    return;
  }
  if (compareTagged(all, path, [old, next])) return;
  // With several alternatives, it is unknown which of them correspond.
  for (const type of ["object", "array"]) {
    const [was, is] = [olds, news].map((variants) => variants.filter(({ kind }) => kind === type));
    if (was?.length !== 1 || is?.length !== 1) continue;
    const pair: [Node, Node] = [asNode(was[0]?.node), asNode(is[0]?.node)];
    if (type === "object") compareFields(all, path, pair);
    else compareNodes(all, `${path}[]`, [pair[0]["items"], pair[1]["items"]]);
  }
}

/** Compares the variants of discriminated unions by their tags; false for other schemas. */
function compareTagged(all: Comparison, path: string, [old, next]: [Node, Node]): boolean {
  const [was, is] = [asNode(old["discriminator"]), asNode(next["discriminator"])];
  if (!isObject(was["mapping"]) || !isObject(is["mapping"]) || was["propertyName"] !== is["propertyName"]) return false;
  const [olds, news] = [was["mapping"], is["mapping"]];
  const [sent, received] = all.direction === "sent" ? [olds, news] : [news, olds];
  for (const tag of Object.keys(sent)) {
    const at = path === "" ? tag : `${path}.${tag}`;
    if (Object.hasOwn(received, tag)) compareNodes(all, at, [{ $ref: olds[tag] }, { $ref: news[tag] }]);
    else all.found.push({ path: at, message: `${nameOf(at)} was ${all.direction === "sent" ? "removed" : "added"}` });
  }
  return true;
}

function compareFields(all: Comparison, path: string, [old, next]: [Node, Node]): void {
  const [olds, news] = [asNode(old["properties"]), asNode(next["properties"])];
  for (const name of new Set([...Object.keys(olds), ...Object.keys(news)])) {
    const field = path === "" ? name : `${path}.${name}`;
    const wasRequired = asList(old["required"]).includes(name);
    const isRequired = asList(next["required"]).includes(name);
    const problem = presenceProblem(all.direction, [olds, news], { name, wasRequired, isRequired });
    if (problem !== undefined) all.found.push({ path: field, message: `${nameOf(field)} ${problem}` });
    else if (Object.hasOwn(olds, name)) compareNodes(all, field, [olds[name], news[name]]);
  }
  const [others, newOthers] = [old["additionalProperties"], next["additionalProperties"]];
  if (isObject(others) && isObject(newOthers)) compareNodes(all, path === "" ? "*" : `${path}.*`, [others, newOthers]);
}

function presenceProblem(
  direction: Direction,
  [olds, news]: [Node, Node],
  { name, wasRequired, isRequired }: { name: string; wasRequired: boolean; isRequired: boolean },
): string | undefined {
  const isSent = direction === "sent";
  if (!Object.hasOwn(news, name)) return "was removed";
  if (!Object.hasOwn(olds, name)) return isSent && isRequired ? "was added and is required" : undefined;
  if (isSent && isRequired && !wasRequired) return "is now required";
  // A field with a default is always sent.
  if (!isSent && wasRequired && !isRequired && !("default" in asNode(news[name]))) return "may now be missing";
  return undefined;
}

function nameOf(path: string): string {
  return path === "" ? "the schema" : `"${path}"`;
}

function list(variants: Variant[]): string {
  return variants.map(({ kind }) => kind).join(" or ");
}
