import * as z from "zod";
import { toClassName } from "../util/text/class-name.js";
import { discriminatorOf, nameOf, type UnionSchema } from "./zod-tree.js";

/** The schema of an action: an object, or a union of objects. */
export type ActionSchema = z.ZodType<Record<string, unknown>, Record<string, unknown>>;
type Union = z.ZodUnion<readonly ActionSchema[]>;

/** The objects of an action, by the names of their classes; undefined when a part of it is not an object. */
export function objectsOf(schema: unknown): z.ZodObject[] | undefined {
  if (schema instanceof z.ZodObject) return [schema as z.ZodObject];
  if (!(schema instanceof z.ZodUnion)) return undefined;
  const found = schema.options.map(objectsOf);
  return found.every((objects) => objects !== undefined) ? found.flat() : undefined;
}

/** The fields of all variants. A name that several variants have is there once. */
export function fieldsOf(schema: ActionSchema): z.core.$ZodShape {
  return Object.assign({}, ...(objectsOf(schema) ?? []).map(({ shape }) => shape));
}

/** A copy of the action with each object changed. The checks of a union, such as refinements, are kept. */
export function changeObjects(schema: ActionSchema, change: (object: z.ZodObject) => z.ZodObject): ActionSchema {
  if (schema instanceof z.ZodObject) return change(schema as z.ZodObject);
  const { def } = (schema as unknown as Union)._zod;
  const options = def.options.map((option) => changeObjects(option, change));
  return schema.clone({ ...def, options } as unknown as typeof schema._zod.def);
}

/**
 * The name of each object of a union, as a class has it in Python: its id, its title, the value of its discriminator or
 * the names of its fields.
 */
export function variantNames(schema: ActionSchema): Map<z.ZodObject, string> {
  const names = new Map<z.ZodObject, string>();
  const used = new Set<string>();
  const visit = (part: ActionSchema, discriminator: string | undefined): void => {
    if (!(part instanceof z.ZodObject)) {
      const union = part as unknown as Union;
      for (const option of union.options) visit(option, discriminatorOf(union as unknown as UnionSchema));
      return;
    }
    const [tag] = (discriminator === undefined ? undefined : part._zod.propValues?.[discriminator]) ?? [];
    const wanted = toClassName(nameOf(part) ?? String(tag ?? Object.keys(part.shape).join(" "))) || "Empty";
    let name = wanted;
    for (let i = 2; used.has(name); i++) name = `${wanted}${i}`;
    used.add(name);
    names.set(part as z.ZodObject, name);
  };
  visit(schema, undefined);
  return names;
}
