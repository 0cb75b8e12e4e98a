import * as z from "zod";
import { type AnySchema, has, type KnownSchema, membersOf } from "../../contract/zod-tree.js";
import { locate } from "../locate.js";
import { CopyOnWrite } from "./copy-on-write.js";
import { candidates, numberRules } from "./numbers.js";

/** What may be mended in a value that failed. */
export interface CoercionRules {
  /** Scalars of the wrong type that say what is meant, as the reference takes them: "4" for 4, "yes" for true. */
  scalars: boolean;
  /** NaN and infinities: under any number, or only where a number is asked for and nothing else. */
  nonFinite: "any" | "free";
}

/** A value that may pass now. `nonFinite` are the paths where a stand-in is in the place of a NaN or an infinity. */
export interface Coerced {
  value: unknown;
  nonFinite: NonFinite[];
}

export interface NonFinite {
  path: PropertyKey[];
  original: number;
}

/** Unions inside unions are tried this deep; each level multiplies the work. */
export const MAX_UNION_DEPTH = 3;

/**
 * One pass over zod's issues that mends what the rules allow, in a copy. Undefined when there was nothing to mend.
 * The result still has to be parsed. Never throws, never changes the value.
 */
export function coerce(
  schema: AnySchema,
  value: unknown,
  { issues, rules, depth = 0 }: { issues: readonly z.core.$ZodIssue[]; rules: CoercionRules; depth?: number },
): Coerced | undefined {
  const draft = new CopyOnWrite(value);
  const nonFinite: NonFinite[] = [];
  let changed = false;
  for (const issue of issues) {
    if (issue.code !== "invalid_type" && issue.code !== "invalid_union") continue;
    const at = locate(schema, value, issue.path);
    if (at.parent !== undefined && !has(at.parent, at.path[at.path.length - 1] as PropertyKey)) continue;
    if (at.union || (issue.code === "invalid_union" && at.schema)) {
      const members = at.union ? membersOf(at.union) : [at.schema as AnySchema];
      const chosen = coerceMember(members, at.value, { rules, depth });
      if (!chosen) continue;
      changed = draft.set(at.path, chosen.value) || changed;
      for (const { path, original } of chosen.nonFinite) nonFinite.push({ path: [...at.path, ...path], original });
    } else if (at.schema) {
      const scalar = coerceScalar(at.schema, at.value, rules);
      if (scalar === undefined) continue;
      changed = draft.set(at.path, scalar) || changed;
      if (typeof at.value === "number" && !Number.isFinite(at.value)) {
        nonFinite.push({ path: at.path, original: at.value });
      }
    }
  }
  return changed ? { value: draft.value, nonFinite } : undefined;
}

/** The first member that takes the value once it is mended. */
function coerceMember(
  members: AnySchema[],
  value: unknown,
  { rules, depth }: { rules: CoercionRules; depth: number },
): Coerced | undefined {
  if (depth >= MAX_UNION_DEPTH) return undefined;
  for (const member of members) {
    const parsed = z.safeParse(member, value);
    if (parsed.success) continue;
    const mended = coerce(member, value, { issues: parsed.error.issues, rules, depth: depth + 1 });
    if (mended && z.safeParse(member, mended.value).success) return mended;
  }
  return undefined;
}

function coerceScalar(schema: KnownSchema, value: unknown, rules: CoercionRules): unknown {
  if (typeof value === "number" && !Number.isFinite(value)) return standIn(schema, rules);
  if (!rules.scalars) return undefined;
  if (schema._zod.def.type === "boolean") return toBoolean(value);
  const number = numberRules(schema);
  if (number === undefined) return undefined;
  if (typeof value === "boolean") return value ? 1 : 0;
  return typeof value === "string" ? toNumber(value, number.integer) : undefined;
}

function standIn(schema: KnownSchema, rules: CoercionRules): number | undefined {
  const number = numberRules(schema);
  if (number === undefined) return undefined;
  if (rules.nonFinite === "free") return number.integer || number.constrained ? undefined : 0;
  return candidates(number).find((candidate) => z.safeParse(schema, candidate).success);
}

const TRUE = new Set(["1", "true", "t", "yes", "y", "on"]);
const FALSE = new Set(["0", "false", "f", "no", "n", "off"]);

function toBoolean(value: unknown): boolean | undefined {
  if (value === 1 || value === 0) return value === 1;
  if (typeof value !== "string" || value.length > 5) return undefined;
  const word = value.toLowerCase();
  if (TRUE.has(word)) return true;
  return FALSE.has(word) ? false : undefined;
}

const INTEGER = /^[+-]?\d+(?:_\d+)*(?:\.0+)?$/;
const NUMBER = /^[+-]?(?:\d+(?:_\d+)*(?:\.(?:\d+(?:_\d+)*)?)?|\.\d+(?:_\d+)*)(?:e[+-]?\d+)?$/i;
/** Longer texts are no number that anybody writes. */
const MAX_DIGITS = 400;

function toNumber(text: string, integer: boolean): number | undefined {
  const trimmed = text.length > MAX_DIGITS ? "" : text.trim();
  if (!(integer ? INTEGER : NUMBER).test(trimmed)) return undefined;
  const value = Number(trimmed.replaceAll("_", ""));
  // -0 prints as 0 and compares as 0, but is another value to Object.is.
  return Number.isFinite(value) ? value + 0 : undefined;
}
