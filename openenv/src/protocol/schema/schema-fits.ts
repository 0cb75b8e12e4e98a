import { limitsFit } from "./schema-limits.js";
import {
  asList,
  asNode,
  covers,
  dereference,
  isComparable,
  type Node,
  openness,
  othersOf,
  variantsOf,
} from "./schema-variants.js";

/** `sent`: clients send the values of the schema. `received`: clients receive them. */
export type Direction = "sent" | "received";

/** A field whose new schema breaks clients of the old schema. */
export interface BrokenField {
  /** Its name; empty for the whole schema. */
  path: string;
  message: string;
}

/** Lists the top-level fields that break clients of the old schema. */
export function brokenFields(before: unknown, after: unknown, direction: Direction): BrokenField[] {
  const all: Comparison = { roots: [asNode(before), asNode(after)], direction, open: new Map() };
  if (fits(all, all.roots)) return [];
  const [old, next] = [dereference(before, all.roots[0]), dereference(after, all.roots[1])];
  all.open.set(old, new Set([next]));
  const fields = fieldNames(old, next).flatMap((path) => {
    const problem = fieldProblem(all, path, [old, next]);
    return problem === undefined ? [] : [{ path, message: `"${path}" ${problem}` }];
  });
  return fields.length > 0 ? fields : [{ path: "", message: "the schema has different limits, values or members" }];
}

interface Comparison {
  roots: [Node, Node];
  direction: Direction;
  /** Pairs being compared: a recursive schema refers to itself. */
  open: Map<Node, Set<Node>>;
}

/** Whether clients of the old schema work with the new schema. */
function fits(all: Comparison, nodes: [unknown, unknown]): boolean {
  const [old, next] = [dereference(nodes[0], all.roots[0]), dereference(nodes[1], all.roots[1])];
  const pairs = all.open.get(old) ?? new Set();
  if (pairs.has(next)) return true;
  all.open.set(old, pairs.add(next));
  const [olds, news] = [variantsOf(old, all.roots[0]), variantsOf(next, all.roots[1])];
  const [senders, receivers] = all.direction === "sent" ? [olds, news] : [news, olds];
  const fit = senders.every((sender) => {
    const comparable = receivers.filter((receiver) => isComparable(receiver, sender));
    if (comparable.length > 0 && !comparable.some((receiver) => nodesFit(all, sender.node, receiver.node)))
      return false;
    return receivers.some((receiver) => covers(receiver, sender));
  });
  pairs.delete(next);
  return fit;
}

function nodesFit(all: Comparison, sender: Node, receiver: Node): boolean {
  if (!limitsFit(sender, receiver)) return false;
  const isSent = all.direction === "sent";
  const [old, next] = isSent ? [sender, receiver] : [receiver, sender];
  if (fieldNames(old, next).some((name) => fieldProblem(all, name, [old, next]) !== undefined)) return false;
  const [was, is] = [othersOf(old), othersOf(next)];
  if (isSent && openness(is) < openness(was)) return false;
  if (typeof was === "object" && typeof is === "object" && !fits(all, [was, is])) return false;
  if (asNode(old["items"]) !== asNode(next["items"]) && !fits(all, [old["items"], next["items"]])) return false;
  const items = asList(next["prefixItems"]);
  return asList(old["prefixItems"]).every((item, i) => fits(all, [item, items[i]]));
}

function fieldNames(old: Node, next: Node): string[] {
  return [...new Set([...Object.keys(asNode(old["properties"])), ...Object.keys(asNode(next["properties"]))])];
}

/** How a field breaks clients of the old schema; undefined when it does not. */
function fieldProblem(all: Comparison, name: string, [old, next]: [Node, Node]): string | undefined {
  const [olds, news] = [asNode(old["properties"]), asNode(next["properties"])];
  const [wasRequired, isRequired] = [asList(old["required"]).includes(name), asList(next["required"]).includes(name)];
  const isSent = all.direction === "sent";
  if (!Object.hasOwn(news, name)) return "was removed";
  if (!Object.hasOwn(olds, name)) return isSent && isRequired ? "was added and is required" : undefined;
  if (isSent && isRequired && !wasRequired) return "is now required";
  // Fields with a default are always sent.
  if (!isSent && wasRequired && !isRequired && !("default" in asNode(news[name]))) return "may now be missing";
  if (fits(all, [olds[name], news[name]])) return undefined;
  const [was, is] = [typesOf(olds[name], all.roots[0]), typesOf(news[name], all.roots[1])];
  return was === is ? `(${is}) has different limits, values or members` : `changed from ${was} to ${is}`;
}

function typesOf(schema: unknown, root: Node): string {
  return [...new Set(variantsOf(dereference(schema, root), root).map(({ type }) => type))].join(" or ");
}
