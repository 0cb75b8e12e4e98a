import type { ClientTypes, Model, Scalar, Type } from "./types.js";

/** Flattens nested unions and removes duplicates. */
export function unionOf(types: readonly Type[]): Type {
  const flat = types.flatMap((type) => (type.kind === "union" ? type.members : [type]));
  const literals = flat.flatMap((type) => (type.kind === "literal" ? type.values : []));
  const members: Type[] = [];
  for (const type of flat) {
    const one: Type = type.kind === "literal" ? { kind: "literal", values: [...new Set(literals)] } : type;
    if (one.kind === "any") return one;
    if (!members.some((member) => JSON.stringify(member) === JSON.stringify(one))) members.push(one);
  }
  const [first] = members;
  return members.length === 1 && first ? first : { kind: "union", members };
}

/** The type of these values; undefined if one of them is not a scalar that JSON has. */
export function literalOf(values: readonly unknown[]): Type | undefined {
  const isScalar = (value: unknown): value is Scalar =>
    value === null || (typeof value === "number" ? Number.isFinite(value) : typeof value !== "object");
  const scalars = [...new Set(values)];
  if (scalars.length === 0 || !scalars.every(isScalar)) return undefined;
  return scalars.every((value) => value === null) ? { kind: "null" } : { kind: "literal", values: scalars };
}

/**
 * Finds the field that tells the objects of each union apart. Only now are all fields known, because classes may be
 * circular.
 */
export function markTags({ models, aliases, tools, action, observation, state }: ClientTypes): void {
  const byName = new Map(models.map((model) => [model.name, model]));
  const visit = (type: Type): void => {
    for (const inner of partsOf(type)) visit(inner);
    if (type.kind !== "union") return;
    const objects = type.members.flatMap((member) => (member.kind === "model" ? (byName.get(member.name) ?? []) : []));
    const tag = findTag(objects);
    if (tag === undefined) return;
    for (const model of objects) markTag(model, tag);
    if (type.members.every(({ kind }) => kind === "model" || kind === "null")) type.tag = tag;
  };
  const inputs = tools.map(({ input }) => input);
  for (const { fields, extraValues, variants } of [...models, ...inputs, action, observation, state]) {
    for (const { type } of fields) visit(type);
    if (extraValues) visit(extraValues);
    if (variants) visit(variants);
  }
  for (const { type } of aliases) visit(type);
  for (const { output } of tools) visit(output);
}

/** A field that every one of these objects has, each with other constants. */
function findTag(models: readonly Model[]): string | undefined {
  const [first, ...others] = models;
  if (first === undefined || others.length === 0) return undefined;
  return first.fields
    .map(({ name }) => name)
    .find((name) => {
      const values = models.map((model) => constantsOf(model, name));
      const flat = values.flat();
      return values.every(({ length }) => length > 0) && new Set(flat).size === flat.length;
    });
}

function constantsOf({ fields }: Model, name: string): Scalar[] {
  const type = fields.find((field) => field.name === name)?.type;
  const values = type?.kind === "literal" ? type.values : [];
  return values.every((value) => typeof value === "string" || Number.isSafeInteger(value)) ? values : [];
}

/** A tag with one value needs not be given: the class has it as its default. */
function markTag(model: Model, tag: string): void {
  model.tags.add(tag);
  model.fields = model.fields.map((field) => {
    const { name, type } = field;
    if (name !== tag || type.kind !== "literal" || type.values.length !== 1) return field;
    return { ...field, required: false, default: { value: type.values[0] } };
  });
}

function partsOf(type: Type): Type[] {
  switch (type.kind) {
    case "list":
      return [type.items];
    case "tuple":
      return type.items;
    case "map":
      return [type.values];
    case "union":
      return type.members;
    default:
      return [];
  }
}
