import { asList, asNode, type SchemaNode } from "../schema/node.js";
import { pascal } from "./model-names.js";

/**
 * The names of the classes of a union: the title of the variant, else the value of the field that tells the variants
 * apart, else the field that only this variant requires. A variant of an action needs no prefix.
 */
export function nameVariants(variants: readonly SchemaNode[], name: string, isAction: boolean): string[] {
  const tag = findTag(variants);
  return variants.map((variant, i) => {
    const title = variant["title"];
    if (typeof title === "string" && /[A-Za-z]/.test(title)) return pascal(title);
    const [value] = tag === undefined ? [] : constantsOf(variant, tag);
    if (value !== undefined) return `${isAction ? "" : name}${pascal(String(value))}`;
    const own = asList(variant["required"]).find(
      (key) => !variants.some((other) => other !== variant && asList(other["required"]).includes(key)),
    );
    if (typeof own === "string") return `${name}${pascal(own)}`;
    return i === 0 && !isAction ? name : `${name}${i + 1}`;
  });
}

function findTag(variants: readonly SchemaNode[]): string | undefined {
  const [first, ...others] = variants;
  return Object.keys(asNode(first?.["properties"])).find((key) => {
    if (others.length === 0) return false;
    const values = variants.map((variant) => constantsOf(variant, key));
    return values.every(({ length }) => length > 0) && new Set(values.flat()).size === values.flat().length;
  });
}

function constantsOf(variant: SchemaNode, key: string): unknown[] {
  const field = asNode(asNode(variant["properties"])[key]);
  return "const" in field ? [field["const"]] : [...asList(field["enum"])];
}
