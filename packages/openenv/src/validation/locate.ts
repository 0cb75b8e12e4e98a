import {
  type AnySchema,
  childOf,
  type KnownSchema,
  membersOf,
  read,
  taggedMember,
  type UnionSchema,
  unwrap,
} from "../contract/zod-tree.js";

/** The place of an issue of zod: the schema, the value and the path for the error. */
export interface LocatedIssue {
  /** Undefined where the schema declares nothing. */
  schema: KnownSchema | undefined;
  value: unknown;
  parent: unknown;
  loc: (string | number)[];
  /** Path of the value: `loc` without the names of union members. */
  path: PropertyKey[];
  /** The union whose members all rejected the value. The path stops there. */
  union?: UnionSchema;
}

/** Follows the path of an issue through schema and value to its end or to the first union. */
export function locate(root: AnySchema, value: unknown, path: readonly PropertyKey[]): LocatedIssue {
  const at: LocatedIssue = { schema: unwrap(root), value, parent: undefined, loc: [], path: [] };
  const union = enterUnion(at);
  if (union) return { ...at, union };
  for (const key of path) {
    const child: AnySchema | undefined = at.schema && childOf(at.schema, key);
    at.schema = child && unwrap(child);
    at.parent = at.value;
    at.value = read(at.value, key);
    at.loc.push(typeof key === "symbol" ? String(key) : key);
    at.path.push(key);
    const found = enterUnion(at);
    if (found) return { ...at, union: found };
  }
  return at;
}

/** Enters a union as long as its member is known: by the tag, or because there is only one. */
function enterUnion(at: LocatedIssue): UnionSchema | undefined {
  while (at.schema?._zod.def.type === "union") {
    const union = at.schema as UnionSchema;
    const members = membersOf(union);
    const tagged = taggedMember(union, at.value);
    if (tagged) at.loc.push(tagged.tag);
    const member = tagged?.schema ?? (members.length === 1 ? members[0] : undefined);
    if (member === undefined) return union;
    at.schema = unwrap(member);
  }
  return undefined;
}
