import * as z from "zod";
import { type ActionSchema, changeObjects, variantNames } from "../contract/action-variants.js";
import type { ObjectSchema } from "../contract/contract.js";
import type { ValidationIssue } from "../errors.js";
import { resetRequest } from "../protocol/bodies.js";
import type { JsonObject } from "../protocol/messages.js";
import { type CoercionRules, coerce, type NonFinite } from "./coercion/coerce.js";
import { CopyOnWrite } from "./coercion/copy-on-write.js";
import { describeIssues } from "./errors/issues.js";

export type Checked<T> = { ok: true; value: T } | { ok: false; issues: ValidationIssue[] };

export interface CheckedAction {
  action: JsonObject;
  metadata: Readonly<JsonObject>;
}

/** The validated data of a reset. Absent and null options are undefined. */
export interface ParsedReset {
  seed: number | undefined;
  episodeId: string | undefined;
  split: string | undefined;
  index: number | undefined;
  /** The contract's own options. */
  fields: JsonObject;
  /** Undeclared keys, which are ignored. */
  dropped: string[];
}

const INPUT_RULES: CoercionRules = { scalars: true, nonFinite: "free" };

/**
 * Inputs with more values are not coerced and get only their first errors, so that a client cannot keep the server busy
 * with a million values.
 */
const MAX_LENIENT_VALUES = 10_000;
/** Stops zod at the first error; no cost for valid input. */
const FIRST_FAULT = { abortEarly: true } as z.core.ParseContext<z.core.$ZodIssue>;

const NO_METADATA: Readonly<JsonObject> = Object.freeze({});
const ACTION_FIELDS = { metadata: z.record(z.string(), z.unknown()).optional() };

/** Creates the check for actions. */
export function createActionCheck(schema: ActionSchema): (value: unknown) => Checked<CheckedAction> {
  const compiled = z.compile(withMetadata(schema));
  return (value) => {
    const checked = parseInput(compiled, value);
    if (!checked.ok) return checked;
    if (!("metadata" in checked.value)) return { ok: true, value: { action: checked.value, metadata: NO_METADATA } };
    const { metadata, ...action } = checked.value;
    return { ok: true, value: { action, metadata: (metadata ?? NO_METADATA) as JsonObject } };
  };
}

function withMetadata(schema: ActionSchema): ActionSchema {
  if (schema instanceof z.ZodObject) return withFields(schema as ObjectSchema, ACTION_FIELDS, z.never());
  const names = variantNames(schema);
  // The path of an error in a plain union names the variant.
  return changeObjects(schema, (variant) =>
    withFields(variant, ACTION_FIELDS, z.never()).meta({ title: names.get(variant) as string }),
  );
}

/**
 * Creates the check for the data of a reset. Undeclared keys are ignored, as in the Python package, but listed; a strict
 * schema rejects them. `metadata` is for plugins, as that of an action, unless the contract declares it.
 */
export function createResetCheck(own: ObjectSchema): (data: JsonObject) => Checked<ParsedReset> {
  const { catchall } = own.def;
  const schema = z.compile(withFields(own, resetRequest.shape, catchall));
  const isLoose = catchall !== undefined && !(catchall instanceof z.ZodNever);
  const isOwn = isLoose || Object.hasOwn(schema.shape, "metadata");
  return (given) => {
    const { metadata, ...rest } = given;
    const data = isOwn || metadata === undefined ? given : rest;
    const checked = parseInput(schema, data);
    if (!checked.ok) return checked;
    const { seed, episode_id, split, index, ...fields } = checked.value as z.output<typeof resetRequest>;
    // Trainers send `metadata` to those who record episodes.
    const isDropped = (key: string): boolean => key !== "metadata" && !Object.hasOwn(schema.shape, key);
    const dropped = catchall !== undefined ? [] : Object.keys(data).filter(isDropped);
    return {
      ok: true,
      value: {
        seed: seed ?? undefined,
        episodeId: episode_id ?? undefined,
        split: split ?? undefined,
        index: index ?? undefined,
        fields,
        dropped,
      },
    };
  };
}

/** Parses input of a client strictly; on failure, tries again with coerced scalars, and then returns the errors. */
export function parseInput(schema: ActionSchema, value: unknown): Checked<JsonObject> {
  const parsed = schema.safeParse(value, FIRST_FAULT);
  if (parsed.success) return { ok: true, value: parsed.data };
  const { issues } = parsed.error;
  if (!hasMoreThan(value, MAX_LENIENT_VALUES)) return parseAgain(schema, value);
  return { ok: false, issues: describeIssues({ schema, value, issues, rules: INPUT_RULES, shallow: true }) };
}

function parseAgain(schema: ActionSchema, value: unknown): Checked<JsonObject> {
  const { error } = schema.safeParse(value);
  const issues = error?.issues ?? [];
  const coerced = coerce(schema, value, { issues, rules: INPUT_RULES });
  if (coerced === undefined)
    return { ok: false, issues: describeIssues({ schema, value, issues, rules: INPUT_RULES }) };
  const second = schema.safeParse(coerced.value);
  if (second.success) return { ok: true, value: putBack(second.data, coerced.nonFinite, ({ original }) => original) };
  return { ok: false, issues: describeIssues({ schema, value, issues: second.error.issues, rules: INPUT_RULES }) };
}

/** Counts a value and all values inside it, and stops above `limit`. */
function hasMoreThan(value: unknown, limit: number): boolean {
  const waiting = [value];
  let count = 1;
  while (waiting.length > 0) {
    const item = waiting.pop();
    // A byte array is one value: listing its keys would be slow.
    if (typeof item !== "object" || item === null || ArrayBuffer.isView(item)) continue;
    // This is not `for…in`, which would create a string for each index.
    if (Array.isArray(item)) {
      count += item.length;
      if (count > limit) return true;
      for (const member of item) waiting.push(member);
      continue;
    }
    // This is not `Object.values`, which would first collect a million members.
    for (const key in item) {
      if (++count > limit) return true;
      waiting.push((item as JsonObject)[key]);
    }
  }
  return false;
}

/** Replaces the placeholders for NaN and infinities. */
export function putBack(
  value: JsonObject,
  places: readonly NonFinite[],
  choose: (place: NonFinite) => number | null,
): JsonObject {
  if (places.length === 0) return value;
  const draft = new CopyOnWrite(value);
  for (const place of places) draft.set(place.path, choose(place));
  return draft.value as JsonObject;
}

/** The author's object schema, preceded by the protocol's fields. Keeps refinements. */
export function withFields<S extends ObjectSchema>(
  schema: S,
  fields: z.core.$ZodShape,
  catchall: z.core.$ZodType | undefined,
): ObjectSchema {
  const { catchall: _own, ...def } = schema._zod.def;
  const extended = { ...def, shape: { ...fields, ...schema.shape }, ...(catchall && { catchall }) };
  return schema.clone(extended as typeof schema._zod.def);
}
