import type * as z from "zod";

/** A schema of any library that implements Standard Schema; {@link AcceptedParts} says which shapes fit. */
export interface PartSchema {
  readonly "~standard": { readonly types?: { readonly input: unknown; readonly output: unknown } | undefined };
}

/** The given parts; in place of a part that is refused, the text of the error that `defineContract` throws. */
export type AcceptedParts<P> = {
  [K in keyof P]: (K extends "action" ? IsAction<P[K]> : IsObject<P[K]>) extends true ? P[K] : Refusal<K & string>;
};

type Refusal<P extends string> = P extends "action" ? typeof NOT_AN_ACTION : ReturnType<typeof notAnObject<P>>;

export const WRAP = "Wrap another shape in a field: z.object({ move: yourSchema }).";
export const NOT_AN_ACTION =
  `The action of a contract must be an object schema or a union of object schemas. ${WRAP}` as const;
export function notAnObject<P extends string>(part: P) {
  return `The ${part} of a contract must be an object schema. ${WRAP}` as const;
}

type IsAction<S> = S extends z.core.$ZodType
  ? IsZodAction<S>
  : S extends { "~standard": { types?: { input: infer I } | undefined } }
    ? AreRecords<I>
    : false;
type IsZodAction<S> = S extends z.ZodObject
  ? true
  : S extends z.ZodUnion<infer Options>
    ? { [K in keyof Options]: IsZodAction<Options[K]> }[number]
    : false;

type IsObject<S> = S extends z.core.$ZodType
  ? S extends z.ZodObject
    ? true
    : false
  : S extends { "~standard": { types?: { input: infer I } | undefined } }
    ? IsUnion<I> extends true
      ? false
      : AreRecords<I>
    : false;

/** True for objects, and not for lists, functions and maps from any string. */
type AreRecords<I> = [I] extends [object]
  ? [Extract<I, readonly unknown[] | ((...args: never[]) => unknown)>] extends [never]
    ? true
    : false
  : false;
export type IsUnion<T, Each = T> = [T] extends [never]
  ? false
  : T extends T
    ? [Each] extends [T]
      ? false
      : true
    : never;
