import * as z from "zod";
import type { ObjectSchema } from "../contract/contract.js";
import type { JsonObject } from "../protocol/messages.js";
import { type CoercionRules, coerce } from "./coercion/coerce.js";
import { describeIssues } from "./errors/issues.js";
import { InvalidOutputError, type JsonSafe, joinPath, setOwn, toJsonSafe } from "./json-safe.js";
import { numberLists } from "./number-lists.js";
import { putBack } from "./parse-input.js";
import { uncheckedFields } from "./unchecked-fields.js";

/** Checks a value that an environment returned. @throws InvalidOutputError naming the paths. */
export type OutputCheck = (value: unknown) => JsonSafe<JsonObject>;

/** The result of reset or step, ready to be sent. */
export interface CheckedTransition {
  /** A copy, but lists of numbers in it belong to the environment. */
  observation: JsonObject;
  reward: number | boolean | null;
  done: boolean;
  metadata: JsonObject;
  nonFinite: number;
}

/** Values of environments are not coerced, except that NaN and infinities, which JSON lacks, become null. */
const OUTPUT_RULES: CoercionRules = { scalars: false, nonFinite: "any" };

export interface OutputOptions {
  /** The name in errors: `observation`. */
  name: string;
  /** Undeclared members are kept instead of rejected. */
  unchecked: boolean;
}

export function createOutputCheck(own: ObjectSchema, { name, unchecked }: OutputOptions): OutputCheck {
  const compile = (shape: ObjectSchema["shape"]): ObjectSchema =>
    z.compile(own.clone({ ...own.def, shape, catchall: unchecked ? z.unknown() : z.never() }) as ObjectSchema);
  const schema = compile(own.shape);
  const unseen = uncheckedFields(own);
  const parseLists = createListParse(own, compile);

  const parse = (value: unknown): JsonSafe<JsonObject> => {
    const quick = parseLists?.(value);
    if (quick !== undefined) return { value: quick, nonFinite: 0 };
    const parsed = schema.safeParse(value);
    if (parsed.success) return { value: parsed.data, nonFinite: 0 };
    const coerced = coerce(schema, value, { issues: parsed.error.issues, rules: OUTPUT_RULES });
    const second = coerced ? schema.safeParse(coerced.value) : parsed;
    if (second.success && coerced) {
      return { value: putBack(second.data, coerced.nonFinite, () => null), nonFinite: coerced.nonFinite.length };
    }
    throw invalid(name, describeIssues({ schema, value, issues: second.error?.issues ?? [], rules: OUTPUT_RULES }));
  };

  return (value) => {
    let result: JsonSafe<JsonObject>;
    try {
      result = parse(value);
    } catch (error) {
      if (error instanceof RangeError) throw new InvalidOutputError(`${name}: nested too deeply or contains itself`);
      throw error;
    }
    if (unchecked) return checkJsonSafeObject(result, name);
    for (const key of unseen) checkMember(result, key, name);
    return result;
  };
}

/**
 * Parses an object without copying its lists of numbers. Undefined when a list is not as declared. With an author's
 * refinement everything is copied, because refinements may change the value.
 */
function createListParse(
  own: ObjectSchema,
  compile: (shape: ObjectSchema["shape"]) => ObjectSchema,
): ((value: unknown) => JsonObject | undefined) | undefined {
  const lists = own.def.checks?.length ? [] : numberLists(own.shape);
  if (lists.length === 0) return undefined;
  const rest = compile({ ...own.shape, ...Object.fromEntries(lists.map(({ key }) => [key, z.unknown()])) });
  return (value) => {
    if (typeof value !== "object" || value === null) return undefined;
    for (const { key, accepts } of lists) {
      if (!accepts((value as Record<string, unknown>)[key])) return undefined;
    }
    const parsed = rest.safeParse(value);
    return parsed.success ? parsed.data : undefined;
  };
}

function checkJsonSafeObject(result: JsonSafe<JsonObject>, name: string): JsonSafe<JsonObject> {
  const { value, nonFinite } = toJsonSafe(result.value, name);
  return { value: value as JsonObject, nonFinite: nonFinite + result.nonFinite };
}

/** Changes `result` in place: it is zod's copy of the object. */
function checkMember(result: JsonSafe<JsonObject>, key: string, name: string): void {
  const member = result.value[key];
  if (member === undefined) return;
  const { value, nonFinite } = toJsonSafe(member, joinPath(name, [key]));
  if (value === member) return;
  setOwn(result.value, key, value);
  result.nonFinite += nonFinite;
}

const SHOWN = 5;

function invalid(name: string, issues: ReturnType<typeof describeIssues>): InvalidOutputError {
  const lines = issues.slice(0, SHOWN).map(({ loc, msg, input, type }) => {
    const found = type === "missing" ? "" : `, found ${JSON.stringify(input)?.slice(0, 100) ?? typeof input}`;
    return `${joinPath(name, loc)}: ${msg}${found}`;
  });
  if (issues.length > SHOWN) lines.push(`and ${issues.length - SHOWN} more`);
  return new InvalidOutputError(
    `the environment returned a value that does not fit its contract: ${lines.join("; ")}`,
    issues,
  );
}

const NOTHING_MORE: JsonSafe<JsonObject> = Object.freeze({ value: Object.freeze({}), nonFinite: 0 });

/** Creates the check for the results of reset or step. */
export function createTransitionCheck(
  observe: (value: unknown) => JsonSafe<JsonObject>,
): (value: unknown) => CheckedTransition {
  return (value) => {
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      throw new InvalidOutputError(
        `reset and step must return { observation, reward?, done?, truncated?, metadata? }, not ${describe(value)}`,
      );
    }
    const { reward, done, truncated, metadata, observation } = value as Record<string, unknown>;
    for (const key in value) if (!Object.hasOwn(MEMBERS, key)) throw unknownMember(key, observation);
    if (observation === undefined) throw unknownMember("", observation);
    if (done !== undefined && typeof done !== "boolean") throw wrongFlag("done", done);
    if (truncated !== undefined && typeof truncated !== "boolean") throw wrongFlag("truncated", truncated);
    const seen = observe(observation);
    const given = checkReward(reward);
    const more = metadata === undefined || metadata === null ? NOTHING_MORE : checkMetadata(metadata);
    return {
      observation: seen.value,
      reward: given,
      done: done === true || truncated === true,
      metadata: more.value,
      nonFinite: seen.nonFinite + more.nonFinite + (given === null && typeof reward === "number" ? 1 : 0),
    };
  };
}

const MEMBERS = { observation: 0, reward: 0, done: 0, truncated: 0, metadata: 0 };

/** Unknown members are errors, because a misspelled reward would be lost silently. */
function unknownMember(key: string, shown: unknown): InvalidOutputError {
  const what = shown === undefined ? "observation is missing" : `"${key}" is not a known member`;
  return new InvalidOutputError(
    `reset and step must return { observation, reward?, done?, truncated?, metadata? }: ${what}`,
  );
}

function checkReward(reward: unknown): number | boolean | null {
  if (typeof reward === "number") return Number.isFinite(reward) ? reward : null;
  if (reward === undefined || reward === null) return null;
  if (typeof reward === "boolean") return reward;
  throw new InvalidOutputError(`reward: must be a number, a boolean or null, not ${describe(reward)}`);
}

function wrongFlag(name: string, value: unknown): InvalidOutputError {
  return new InvalidOutputError(`${name}: must be true or false, not ${describe(value)}`);
}

function checkMetadata(metadata: unknown): JsonSafe<JsonObject> {
  if (metadata === undefined || metadata === null) return NOTHING_MORE;
  const checked = toJsonSafe(metadata, "metadata");
  if (typeof checked.value === "object" && checked.value !== null && !Array.isArray(checked.value)) {
    return checked as JsonSafe<JsonObject>;
  }
  throw new InvalidOutputError(`metadata: must be an object, not ${describe(metadata)}`);
}

function describe(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (Array.isArray(value)) return "a list";
  return typeof value === "object" ? (value.constructor?.name ?? "an object") : `a ${typeof value}`;
}
