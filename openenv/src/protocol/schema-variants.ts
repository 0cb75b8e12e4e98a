/** What is read of a JSON Schema. */
export interface Node {
  $ref?: string;
  type?: string | string[];
  anyOf?: unknown[];
  oneOf?: unknown[];
  allOf?: unknown[];
  enum?: unknown[];
  const?: unknown;
  properties?: Record<string, unknown>;
  required?: string[];
  additionalProperties?: boolean | object;
  items?: unknown;
  prefixItems?: unknown[];
  [keyword: string]: unknown;
}

/** One shape that a schema allows. */
export interface Variant {
  /** A JSON type, `tuple`, `any`, or a constant as JSON text. */
  kind: string;
  /** The JSON type, also of a constant. */
  type: string;
  node: Node;
}

const ANY: Node = {};

export function asNode(schema: unknown): Node {
  return typeof schema === "object" && schema !== null ? (schema as Node) : ANY;
}

/** The shapes a schema allows: references followed, alternatives and constants one by one. */
export function variantsOf(schema: Node, root: Node): Variant[] {
  const found: Variant[] = [];
  collect(schema, { root, found, seen: new Set() });
  const kinds = new Set<string>();
  // Constants and scalars of one kind are the same; objects and lists of one kind differ inside.
  return found.filter(({ kind }) => kind === "object" || kind === "array" || (!kinds.has(kind) && kinds.add(kind)));
}

function collect(schema: Node, at: { root: Node; found: Variant[]; seen: Set<Node> }): void {
  if (at.seen.has(schema)) return;
  at.seen.add(schema);
  const target = schema.$ref === undefined ? undefined : resolve(schema.$ref, at.root);
  const alternatives = target ? [target] : (schema.anyOf ?? schema.oneOf);
  if (alternatives) {
    for (const alternative of alternatives) collect(asNode(alternative), at);
  } else if ("const" in schema || schema.enum) {
    for (const value of "const" in schema ? [schema.const] : (schema.enum ?? [])) at.found.push(constant(value));
  } else if (schema.allOf?.length === 1) {
    collect(asNode(schema.allOf[0]), at);
  } else if (Array.isArray(schema.type)) {
    for (const type of schema.type) at.found.push(typed(schema, type));
  } else {
    at.found.push(typed(schema, schema.type ?? "any"));
  }
}

function typed(node: Node, type: string): Variant {
  return { kind: type === "array" && node.prefixItems ? "tuple" : type, type, node };
}

function constant(value: unknown): Variant {
  const type = value === null ? "null" : Array.isArray(value) ? "array" : typeof value;
  const precise = type === "number" && Number.isInteger(value) ? "integer" : type;
  return { kind: type === "null" ? type : JSON.stringify(value), type: precise, node: ANY };
}

/** A reference inside the document; any other says nothing. */
function resolve(reference: string, root: Node): Node {
  if (!reference.startsWith("#")) return ANY;
  let current: unknown = root;
  for (const step of reference.slice(1).split("/").slice(1)) {
    const key = decodeURIComponent(step).replaceAll("~1", "/").replaceAll("~0", "~");
    current = typeof current === "object" && current !== null ? (current as Node)[key] : undefined;
  }
  return asNode(current);
}
