/** An untrusted JSON Schema: members that should be lists or objects can have any type. */
export type Node = Readonly<Record<string, unknown>>;

/** One shape that a schema allows. */
export interface Variant {
  /** A JSON type, `tuple`, `any`, or a constant as JSON. */
  kind: string;
  /** The JSON type, also of a constant. */
  type: string;
  node: Node;
}

const ANY: Node = {};

export function asNode(value: unknown): Node {
  return typeof value === "object" && value !== null ? (value as Node) : ANY;
}

export function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** Follows references within the document; any other reference allows every value. */
export function dereference(schema: unknown, root: Node): Node {
  let node = asNode(schema);
  // The limit stops circular references.
  for (let i = 0; typeof node["$ref"] === "string"; i++) node = i < 100 ? resolve(node["$ref"], root) : ANY;
  return node;
}

/** The shapes that a schema allows: references resolved, alternatives and constants listed. */
export function variantsOf(schema: Node, root: Node): Variant[] {
  const found: Variant[] = [];
  collect(schema, { root, found, seen: new Set() });
  const kinds = new Set<string>();
  // Constants and scalars of one kind are equal; objects and lists of one kind can differ.
  return found.filter(({ kind }) => kind === "object" || kind === "array" || (!kinds.has(kind) && kinds.add(kind)));
}

/** True when every value of the narrow kind is also of the wide kind. */
export function covers(wide: Variant, narrow: Variant): boolean {
  if (wide.kind === "any" || wide.kind === narrow.kind) return true;
  return wide.kind === narrow.type || (wide.kind === "number" && narrow.type === "integer");
}

function collect(schema: Node, at: { root: Node; found: Variant[]; seen: Set<Node> }): void {
  if (at.seen.has(schema)) return;
  at.seen.add(schema);
  const { type } = schema;
  const alternatives = schema["anyOf"] ?? schema["oneOf"];
  if (Array.isArray(alternatives)) {
    for (const alternative of alternatives) collect(dereference(alternative, at.root), at);
  } else if ("const" in schema) {
    at.found.push(constant(schema["const"]));
  } else if (Array.isArray(schema["enum"])) {
    at.found.push(...schema["enum"].map(constant));
  } else if (asList(schema["allOf"]).length === 1) {
    collect(dereference(asList(schema["allOf"])[0], at.root), at);
  } else {
    at.found.push(
      ...(Array.isArray(type) ? type : [type ?? "any"]).map((one) =>
        typed(schema, typeof one === "string" ? one : "any"),
      ),
    );
  }
}

function typed(node: Node, type: string): Variant {
  return { kind: type === "array" && Array.isArray(node["prefixItems"]) ? "tuple" : type, type, node };
}

function constant(value: unknown): Variant {
  const type = value === null ? "null" : Array.isArray(value) ? "array" : typeof value;
  const precise = type === "number" && Number.isInteger(value) ? "integer" : type;
  return { kind: type === "null" ? type : JSON.stringify(value), type: precise, node: ANY };
}

function resolve(reference: string, root: Node): Node {
  if (!reference.startsWith("#")) return ANY;
  let current: unknown = root;
  for (const step of reference.slice(1).split("/").slice(1)) {
    const key = decode(step).replaceAll("~1", "/").replaceAll("~0", "~");
    current = typeof current === "object" && current !== null && Object.hasOwn(current, key) ? asNode(current)[key] : 0;
  }
  return asNode(current);
}

function decode(step: string): string {
  try {
    return decodeURIComponent(step);
  } catch {
    return step;
  }
}
