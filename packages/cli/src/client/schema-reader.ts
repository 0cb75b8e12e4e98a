import { asList, asNode, canonicalSchema, clip, dereference, type Node } from "openenv-ts/internal";
import { limitsOf } from "./limits.js";
import { type ModelNames, pascal } from "./model-names.js";
import type { Model, ModelField, Scalar, Type } from "./types.js";

/** Schemas of somebody else may be nested without end, by themselves or by what they refer to. */
const MAX_DEPTH = 64;
const MAX_DESCRIPTION = 500;
/** Python's parser takes 200 brackets. */
const MAX_DEFAULT_DEPTH = 100;

export interface Reader {
  model(schema: Node, name: string, depth: number): Model;
  type(schema: Node, name: string, depth: number): Type;
}

export interface Reading {
  part: string;
  names: ModelNames;
  models: Model[];
}

interface ClassUse {
  definition: string;
  depth: number;
  /** Where it is called by one. */
  reference?: string;
}

/** Reads the parts of one schema, to which its references lead. */
export function createReader(root: Node, { part, names, models }: Reading): Reader {
  /** What a reference stands for, once it is known; while its object is read it is known already, as it may go round. */
  const known = new Map<string, Type>();

  function model(schema: Node, name: string, depth: number): Model {
    const required = asList(schema["required"]);
    const fields = Object.entries(asNode(schema["properties"])).map(([key, value]): ModelField => {
      const given = asNode(value);
      const type = typeOf(given, `${name}${pascal(key)}`, depth + 1);
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
    return { name, description: describe(schema), fields, extra: extraOf(schema["additionalProperties"]) };
  }

  function typeOf(given: Node, name: string, depth: number): Type {
    if (depth > MAX_DEPTH) return { kind: "any" };
    const reference = given["$ref"];
    if (typeof reference === "string") return referenced(reference, depth);
    const alternatives = given["anyOf"] ?? given["oneOf"] ?? (isLone(given["allOf"]) ? given["allOf"] : undefined);
    if (Array.isArray(alternatives)) {
      return unionOf(
        alternatives.map((member, i) => typeOf(asNode(member), i === 0 ? name : `${name}${i + 1}`, depth + 1)),
      );
    }
    if ("const" in given) return literal([given["const"]]);
    if (Array.isArray(given["enum"])) return literal(given["enum"]);
    if (Array.isArray(given["type"])) {
      return unionOf(given["type"].map((type) => typeOf({ ...given, type }, name, depth + 1)));
    }
    return plainType(given, name, depth);
  }

  function plainType(given: Node, name: string, depth: number): Type {
    switch (given["type"]) {
      case "null":
      case "boolean":
      case "integer":
      case "number":
        return { kind: given["type"] };
      case "string":
        return isKnownFormat(given["format"]) ? { kind: "format", format: given["format"] } : { kind: "string" };
      case "array": {
        const first = asList(given["prefixItems"]);
        if (first.length > 0 && first.length === given["maxItems"] && first.length === given["minItems"]) {
          return { kind: "tuple", items: first.map((item, i) => typeOf(asNode(item), `${name}${i + 1}`, depth + 1)) };
        }
        const items = first.length > 0 ? {} : asNode(given["items"]);
        return { kind: "list", items: typeOf(items, `${name}Item`, depth + 1) };
      }
      case "object":
        return objectType(given, name, depth);
      default:
        return { kind: "any" };
    }
  }

  function objectType(given: Node, name: string, depth: number): Type {
    if (Object.keys(asNode(given["properties"])).length === 0) {
      return { kind: "map", values: typeOf(asNode(given["additionalProperties"]), `${name}Value`, depth + 1) };
    }
    // Equal objects of one part are one class, called after where the first stands.
    return classOf(given, name, { definition: `${part} ${definitionOf(given, root)}`, depth });
  }

  function referenced(reference: string, depth: number): Type {
    const found = known.get(reference);
    if (found) return found;
    const target = dereference({ $ref: reference }, root);
    const isObject = target["type"] === "object" && Object.keys(asNode(target["properties"])).length > 0;
    if (!isObject) {
      // An alternative or a list that holds itself has no name of its own to be called by.
      known.set(reference, { kind: "any" });
      const type = typeOf(target, pascal(lastStep(reference)), depth + 1);
      known.set(reference, type);
      return type;
    }
    const name = pascal(lastStep(reference));
    return classOf(target, name, { reference, definition: `${name} ${definitionOf(target, root)}`, depth });
  }

  function classOf(given: Node, wanted: string, { reference, definition, depth }: ClassUse): Type {
    const { name, isNew } = names.share(wanted, definition);
    const type: Type = { kind: "model", name };
    if (reference !== undefined) known.set(reference, type);
    if (isNew) models.push(model(given, name, depth));
    return type;
  }

  return { model, type: typeOf };
}

/** Without what is there twice; an alternative of alternatives is one. */
export function unionOf(types: readonly Type[]): Type {
  const flat = types.flatMap((type) => (type.kind === "union" ? type.members : [type]));
  const literals = flat.flatMap((type) => (type.kind === "literal" ? type.values : []));
  const members: Type[] = [];
  for (const type of flat) {
    const one: Type = type.kind === "literal" ? literal(literals) : type;
    if (one.kind === "any") return one;
    if (!members.some((member) => JSON.stringify(member) === JSON.stringify(one))) members.push(one);
  }
  const [first] = members;
  return members.length === 1 && first ? first : members.length === 0 ? { kind: "any" } : { kind: "union", members };
}

function literal(values: readonly unknown[]): Type {
  const isScalar = (value: unknown): value is Scalar => value === null || typeof value !== "object";
  const scalars = [...new Set(values)].filter(isScalar);
  if (scalars.length === 0 || scalars.length < new Set(values).size) return { kind: "any" };
  if (scalars.some((value) => typeof value === "number" && !Number.isFinite(value))) return { kind: "any" };
  return scalars.every((value) => value === null) ? { kind: "null" } : { kind: "literal", values: scalars };
}

function isKnownFormat(format: unknown): format is "date-time" | "date" | "uuid" {
  return format === "date-time" || format === "date" || format === "uuid";
}

function depthOf(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(depthOf));
}

function isLone(list: unknown): boolean {
  return Array.isArray(list) && list.length === 1;
}

function extraOf(additional: unknown): Model["extra"] {
  return additional === true ? "allow" : additional === false ? "forbid" : "ignore";
}

/** One text for a definition and all that it refers to: equal ones of two schemas are one class. */
function definitionOf(target: Node, root: Node): string {
  const texts = new Map<string, string>();
  const visit = (schema: Node): string => {
    const text = canonicalSchema(schema);
    for (const [, reference = ""] of text.matchAll(/"\$ref":"(#[^"]*)"/g)) {
      if (texts.has(reference)) continue;
      texts.set(reference, "");
      texts.set(reference, visit(dereference({ $ref: reference }, root)));
    }
    return text;
  };
  return [visit(target), ...[...texts].flat()].join(" ");
}

function lastStep(reference: string): string {
  return reference.slice(reference.lastIndexOf("/") + 1);
}

/** In one line, and not a book. */
export function describe(schema: Node): string {
  const { description } = schema;
  if (typeof description !== "string") return "";
  return clip(description.replace(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, " ").trim(), MAX_DESCRIPTION);
}
