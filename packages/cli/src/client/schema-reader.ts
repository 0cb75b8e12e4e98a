import { ConfigError, canonicalSchema } from "openenv-ts/internal";
import { asList, asNode, type SchemaNode } from "../schema/node.js";
import { literalOf, unionOf } from "./combine-types.js";
import { limitsOf } from "./limits.js";
import { hasStructure, isObjectSchema, mergeObjects, targetOf } from "./merge-schemas.js";
import { type ModelNames, pascal } from "./model-names.js";
import { type Alias, FORMATS, type Format, type Model, type ModelField, type Type } from "./types.js";
import { nameVariants } from "./variant-names.js";

/** Schemas of foreign servers may be nested arbitrarily deep, also through references. */
const MAX_DEPTH = 64;
const MAX_DESCRIPTION = 500;
const MAX_SHOWN = 80;
/** Python's parser accepts 200 nested brackets. */
const MAX_DEFAULT_DEPTH = 100;
/** The first part of the pattern that Pydantic gives the string of a decimal. */
const DECIMAL = "^(?!^[-+.]*$)[+-]?0*";

export interface Reading {
  /** The part of the schemas, such as `action`; errors begin with it. */
  part: string;
  names: ModelNames;
  models: Model[];
  aliases: Alias[];
}

/** Where a schema is: `path` for errors, `name` for the class that it may become. */
export interface Place {
  path: string;
  name: string;
  depth: number;
}

/** Reads one schema and follows its references. @throws ConfigError that names the field whose type cannot be expressed. */
export class SchemaReader {
  readonly #root: SchemaNode;
  readonly #reading: Reading;
  /** The types of references. An object is added before its fields are read, because references may be circular. */
  readonly #known = new Map<string, Type | Recursion>();

  constructor(root: SchemaNode, reading: Reading) {
    this.#root = root;
    this.#reading = reading;
  }

  /** Reads an object, or for an action a union of objects. */
  root(schema: unknown, name: string): Model {
    const at: Place = { path: this.#reading.part, name, depth: 0 };
    const given = this.#resolved(nodeOf(schema, at), at);
    if (isObjectSchema(given) || !hasStructure(given)) return this.#model(given, at);
    const union = this.#reading.part === "action" ? this.type(given, at) : undefined;
    const members = union?.kind === "union" ? union.members : union ? [union] : [];
    if (members.length === 0 || members.some(({ kind }) => kind !== "model" && kind !== "map")) reject(given, at);
    const base = { name, description: describe(given), fields: [], extra: "ignore", tags: new Set<string>() } as const;
    return { ...base, fields: [], variants: { kind: "union", members } };
  }

  #model(schema: SchemaNode, { path, name, depth }: Place): Model {
    const required = asList(schema["required"]);
    const fields = Object.entries(asNode(schema["properties"])).map(([key, value]): ModelField => {
      const place = { path: `${path}.${key}`, name: `${name}${pascal(key)}`, depth: depth + 1 };
      const given = nodeOf(value, place);
      const type = this.type(given, place);
      return {
        name: key,
        type,
        required: required.includes(key),
        ...("default" in given &&
          depthOf(given["default"]) <= MAX_DEFAULT_DEPTH && { default: { value: given["default"] } }),
        description: describe(given),
        limits: limitsOf(given, type),
      };
    });
    const extraValues = this.#extraType(schema, { path: `${path}.*`, name: `${name}Value`, depth: depth + 1 });
    const { additionalProperties: additional } = schema;
    // Without any field, every object is allowed.
    const isOpen = additional === undefined ? !("properties" in schema) : additional === true;
    const extra = isOpen || extraValues ? "allow" : additional === false ? "forbid" : "ignore";
    const base = { name, description: describe(schema), fields, extra, tags: new Set<string>() } as const;
    return { ...base, fields, ...(extraValues && { extraValues }) };
  }

  /** The type of the members that are not declared, if they have one. */
  #extraType(schema: SchemaNode, at: Place): Type | undefined {
    const { additionalProperties, patternProperties } = schema;
    const given = [...Object.values(asNode(patternProperties)), additionalProperties];
    const types = given.filter((one) => typeof one === "object" && one !== null).map((one) => this.type(one, at));
    return types.length === 0 ? undefined : unionOf(types);
  }

  type(value: unknown, at: Place): Type {
    const given = nodeOf(value, at);
    if (at.depth > MAX_DEPTH) throw rejection(at, `is nested more than ${MAX_DEPTH} levels deep`);
    if (given["nullable"] === true) return unionOf([this.type({ ...given, nullable: false }, at), { kind: "null" }]);
    const { $ref: reference, ...siblings } = given;
    if (typeof reference === "string" && !hasStructure(siblings)) return this.#referenced(reference, at);
    if ("allOf" in given || typeof reference === "string") return this.type(this.#resolved(given, at), at);
    const alternatives = this.#alternativesOf(given, at);
    if (alternatives !== undefined) return this.#either(alternatives, at);
    if ("const" in given || Array.isArray(given["enum"])) {
      return literalOf("const" in given ? [given["const"]] : asList(given["enum"])) ?? reject(given, at);
    }
    if (Array.isArray(given["type"])) {
      return given["type"].length === 0
        ? reject(given, at)
        : unionOf(given["type"].map((type) => this.type({ ...given, type }, at)));
    }
    return this.#plainType(given, at);
  }

  /** The alternatives that have a type, each with what stands next to them; undefined if there are none. */
  #alternativesOf(given: SchemaNode, at: Place): SchemaNode[] | undefined {
    const { anyOf, oneOf, ...rest } = given;
    const lists = [anyOf, oneOf].filter((list) => list !== undefined);
    if (lists.length === 0) return undefined;
    const members = asList(lists[0]).map((member) => nodeOf(member, at));
    if (lists.length > 1 || members.length === 0) reject(given, at);
    // The alternatives can be, for example, lists of fields of which one is required.
    if (!members.some(hasStructure) && hasStructure(rest)) return [rest];
    const { type: _, discriminator: __, ...others } = rest;
    return hasStructure(others) ? members.map((member) => ({ allOf: [rest, member] })) : members;
  }

  #either(members: readonly SchemaNode[], at: Place): Type {
    const [only] = members;
    if (members.length === 1 && only) return this.type(only, at);
    const names = nameVariants(
      members.map((member) => this.#resolved(member, at)),
      at.name,
      at.path === "action",
    );
    const types = members.map((member, i) =>
      this.type(member, { ...at, name: names[i] ?? at.name, depth: at.depth + 1 }),
    );
    const isDecimal = members.some((one) => one["type"] === "string" && String(one["pattern"]).startsWith(DECIMAL));
    if (!isDecimal || !types.some(({ kind }) => kind === "number")) return unionOf(types);
    const others = types.filter(({ kind }) => kind !== "number" && kind !== "string");
    return unionOf([{ kind: "format", format: "decimal" }, ...others]);
  }

  #plainType(given: SchemaNode, at: Place): Type {
    const deeper = (name: string, path: string): Place => ({ name, path, depth: at.depth + 1 });
    switch (given["type"] ?? (isObjectSchema(given) ? "object" : undefined)) {
      case "null":
      case "boolean":
      case "integer":
      case "number":
        return { kind: given["type"] as "null" };
      case "string":
        return isKnownFormat(given["format"]) ? { kind: "format", format: given["format"] } : { kind: "string" };
      case "array": {
        const first = asList(given["prefixItems"] ?? (Array.isArray(given["items"]) ? given["items"] : []));
        const items = first.map((item, i) => this.type(item, deeper(`${at.name}${i + 1}`, `${at.path}[${i}]`)));
        const { minItems = first.length, maxItems, items: rest } = given;
        const isClosed = maxItems === first.length || rest === false;
        if (first.length > 0 && isClosed && minItems === first.length) return { kind: "tuple", items };
        if (rest === false || Array.isArray(rest)) return items.length > 0 ? listOf(items) : reject(given, at);
        return listOf([...items, this.type(rest ?? {}, deeper(`${at.name}Item`, `${at.path}[]`))]);
      }
      case "object":
        return this.#objectType(given, at);
      case undefined:
        return hasStructure(given) ? reject(given, at) : { kind: "any" };
      default:
        return reject(given, at);
    }
  }

  #objectType(given: SchemaNode, at: Place): Type {
    if ("properties" in given) {
      // Equal objects in one part share a class, named after the position of the first.
      return this.#classOf(given, at, { definition: `${this.#reading.part} ${definitionOf(given, this.#root)}` });
    }
    const inside = { path: `${at.path}.*`, name: `${at.name}Value`, depth: at.depth + 1 };
    const values = this.#extraType(given, inside) ?? { kind: "any" };
    const names = given["propertyNames"];
    const keys = names === undefined ? undefined : this.type(names, { ...inside, name: `${at.name}Key` });
    const isLiteral = keys?.kind === "literal";
    const isComplete = isLiteral && keys.values.every((key) => asList(given["required"]).includes(key));
    const isNumber = keys?.kind === "integer" || keys?.kind === "number";
    return { kind: "map", keys: isLiteral || isNumber ? keys : { kind: "string" }, values, isComplete };
  }

  #referenced(reference: string, at: Place): Type {
    const found = this.#known.get(reference);
    if (found !== undefined && !(found instanceof Recursion)) return found;
    const target = targetOf(reference, this.#root);
    if (target === undefined) throw rejection(at, `refers to ${shown(reference)}, which is not there`);
    const title = target["title"];
    const name = pascal(typeof title === "string" && /[A-Za-z]/.test(title) ? title : lastStep(reference));
    const definition = `${name} ${definitionOf(target, this.#root)}`;
    if (found !== undefined) return found.aliasOf(this.#reading.names.share(name, `alias ${definition}`));
    const merged = this.#resolved(target, at);
    if (isObjectSchema(merged) && "properties" in merged) {
      return this.#classOf(merged, { ...at, name }, { reference, definition });
    }
    const recursion = new Recursion();
    this.#known.set(reference, recursion);
    const read = this.type(target, { ...at, name, depth: at.depth + 1 });
    const { alias, isNew } = recursion;
    if (alias !== undefined && isItself(read, alias.name)) throw rejection(at, "is a union with itself");
    if (alias !== undefined && isNew) this.#reading.aliases.push({ name: alias.name, type: read });
    const type = alias ?? read;
    this.#known.set(reference, type);
    return type;
  }

  #classOf(given: SchemaNode, at: Place, { definition, reference }: { definition: string; reference?: string }): Type {
    const { name, isNew } = this.#reading.names.share(at.name, definition);
    const type: Type = { kind: "model", name };
    if (reference !== undefined) this.#known.set(reference, type);
    if (isNew) this.#reading.models.push(this.#model(given, { ...at, name }));
    return type;
  }

  /** The schema without references and `allOf` at its root. */
  #resolved(given: SchemaNode, at: Place, depth = 0): SchemaNode {
    const { $ref: reference, allOf, ...rest } = given;
    if (typeof reference !== "string" && !Array.isArray(allOf)) return given;
    if (depth > MAX_DEPTH) throw rejection(at, "refers to itself");
    const target = typeof reference === "string" ? targetOf(reference, this.#root) : undefined;
    if (typeof reference === "string" && target === undefined) {
      throw rejection(at, `refers to ${shown(reference)}, which is not there`);
    }
    const parts = [...(target ? [target] : []), ...asList(allOf).map((member) => nodeOf(member, at)), rest];
    const flat = parts.map((one) => this.#resolved(one, at, depth + 1)).filter(hasStructure);
    const [only] = flat;
    if (flat.length <= 1) return { ...target, ...only, ...rest };
    return mergeObjects(flat) ?? reject(given, at);
  }
}

/** A reference that is being read. It gets a name if it refers to itself. */
class Recursion {
  alias: { kind: "alias"; name: string } | undefined;
  isNew = false;

  aliasOf({ name, isNew }: { name: string; isNew: boolean }): Type {
    this.isNew ||= isNew;
    this.alias ??= { kind: "alias", name };
    return this.alias;
  }
}

/** A union or list that has no other member than itself has no value. */
function isItself(type: Type, name: string): boolean {
  const members = type.kind === "union" ? type.members : [type];
  return members.some((member) => member.kind === "alias" && member.name === name);
}

function listOf(items: Type[]): Type {
  return { kind: "list", items: unionOf(items) };
}

function nodeOf(value: unknown, at: Place): SchemaNode {
  if (value === true || value === undefined) return {};
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as SchemaNode;
  throw rejection(at, `has the schema ${shown(value)}`);
}

function reject(schema: SchemaNode, at: Place): never {
  throw rejection(at, `has the schema ${shown(schema)}`);
}

function rejection({ path }: Place, what: string): ConfigError {
  const field = path.slice(0, MAX_DESCRIPTION).toWellFormed();
  return new ConfigError(
    `${field} ${what}, which a generated client cannot express. Change the schema of the environment, or use a client ` +
      "that needs none: connect(url) of openenv-ts.",
  );
}

function shown(value: unknown): string {
  return (JSON.stringify(value) ?? String(value)).slice(0, MAX_SHOWN).toWellFormed();
}

function isKnownFormat(format: unknown): format is Exclude<Format, "decimal"> {
  return format !== "decimal" && FORMATS.includes(format as Format);
}

function depthOf(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(depthOf));
}

/** A canonical text of a definition and everything it refers to, so that equal definitions share a class. */
function definitionOf(target: SchemaNode, root: SchemaNode): string {
  const texts = new Map<string, string>();
  const visit = (schema: SchemaNode): string => {
    const text = canonicalSchema(schema);
    for (const [, reference = ""] of text.matchAll(/"\$ref":"(#[^"]*)"/g)) {
      if (texts.has(reference)) continue;
      texts.set(reference, "");
      texts.set(reference, visit(targetOf(reference, root) ?? {}));
    }
    return text;
  };
  return [visit(target), ...[...texts].flat()].join(" ");
}

function lastStep(reference: string): string {
  return reference.slice(reference.lastIndexOf("/") + 1);
}

/** The description in one line, with a limited length. */
export function describe(schema: SchemaNode): string {
  const { description } = schema;
  if (typeof description !== "string") return "";
  return description
    .replace(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, " ")
    .trim()
    .slice(0, MAX_DESCRIPTION)
    .toWellFormed();
}
