import type * as z from "zod";
import type { ValidationIssue } from "../errors.js";
import type { JsonObject } from "../protocol/messages.js";
import { type MendRules, mend, type NonFinite } from "./coerce.js";
import type { ObjectSchema } from "./contract.js";
import { Draft } from "./draft.js";
import { describeIssues } from "./issues.js";

export type Checked<T> = { ok: true; value: T } | { ok: false; issues: ValidationIssue[] };

const INPUT_RULES: MendRules = { scalars: true, nonFinite: "free" };

/** A second look at a value that its schema refused: one pass of leniency for scalars, then the errors of the wire. */
export function parseAgain(
  schema: ObjectSchema,
  value: unknown,
  issues: readonly z.core.$ZodIssue[],
): Checked<JsonObject> {
  const mended = mend(schema, value, { issues, rules: INPUT_RULES });
  if (mended === undefined) return { ok: false, issues: describeIssues({ schema, value, issues, rules: INPUT_RULES }) };
  const second = schema.safeParse(mended.value);
  if (second.success) return { ok: true, value: putBack(second.data, mended.nonFinite, ({ original }) => original) };
  return { ok: false, issues: describeIssues({ schema, value, issues: second.error.issues, rules: INPUT_RULES }) };
}

/** Puts something in the place of the stand-ins that made a value with NaN or infinities pass. */
export function putBack(
  value: JsonObject,
  places: readonly NonFinite[],
  choose: (place: NonFinite) => number | null,
): JsonObject {
  if (places.length === 0) return value;
  const draft = new Draft(value);
  for (const place of places) draft.set(place.path, choose(place));
  return draft.value as JsonObject;
}

/** The author's object schema with the protocol's own fields before it. Refinements stay. */
export function withFields<S extends ObjectSchema>(
  schema: S,
  fields: z.core.$ZodShape,
  catchall: z.core.$ZodType | undefined,
): ObjectSchema {
  const { catchall: _own, ...def } = schema._zod.def;
  const extended = { ...def, shape: { ...fields, ...schema.shape }, ...(catchall && { catchall }) };
  return schema.clone(extended as typeof schema._zod.def);
}
