import * as z from "zod";
import { type AnySchema, has, type KnownSchema, membersOf } from "../../contract/zod-tree.js";
import { locate } from "../locate.js";
import { CopyOnWrite } from "./copy-on-write.js";
import { candidates, numberRules } from "./numbers.js";

/** The coercions allowed for a value that failed validation. */
export interface CoercionRules {
  /** Scalars of another type, as Pydantic accepts them: "4" for 4, "yes" for true. */
  scalars: boolean;
  /** NaN and infinities: for `any` number schema, or only for a number without constraints (`free`). */
  nonFinite: "any" | "free";
}

/** A coerced value. `nonFinite` are the paths at which a placeholder replaces NaN or an infinity. */
export interface Coerced {
  value: unknown;
  nonFinite: NonFinite[];
}

export interface NonFinite {
  path: PropertyKey[];
  original: number;
}

/** Maximum depth of nested unions that are tried; each level multiplies the work. */
export const MAX_UNION_DEPTH = 3;

/**
 * Makes one pass over zod's issues and coerces what the rules allow, in a copy. Undefined when nothing was coerced.
 * The result must be parsed again. Never throws and never changes the value.
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

/** Coerces with the first union member that then accepts the value. */
function coerceMember(
  members: AnySchema[],
  value: unknown,
  { rules, depth }: { rules: CoercionRules; depth: number },
): Coerced | undefined {
  if (depth >= MAX_UNION_DEPTH) return undefined;
  for (const member of members) {
    const parsed = z.safeParse(member, value);
    if (parsed.success) continue;
    const coerced = coerce(member, value, { issues: parsed.error.issues, rules, depth: depth + 1 });
    if (coerced && z.safeParse(member, coerced.value).success) return coerced;
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
/** Longer strings are rejected as numbers. */
const MAX_DIGITS = 400;

function toNumber(text: string, integer: boolean): number | undefined {
  const trimmed = text.length > MAX_DIGITS ? "" : text.trim();
  if (!(integer ? INTEGER : NUMBER).test(trimmed)) return undefined;
  const value = Number(trimmed.replaceAll("_", ""));
  // Adding 0 turns -0 into 0; Object.is distinguishes them.
  return Number.isFinite(value) ? value + 0 : undefined;
}
