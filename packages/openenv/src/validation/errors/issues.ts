import * as z from "zod";
import {
  type AnySchema,
  discriminatorOf,
  has,
  type KnownSchema,
  membersOf,
  type UnionSchema,
} from "../../contract/zod-tree.js";
import type { ValidationIssue } from "../../errors.js";
import { findNearest } from "../../util/text/nearest.js";
import { type CoercionRules, coerce, MAX_UNION_DEPTH } from "../coercion/coerce.js";
import { type LocatedIssue, locate } from "../locate.js";
import { briefInput } from "./brief-input.js";
import { pydanticError } from "./pydantic-error.js";
import { unionBranchName } from "./union-branch-name.js";

/** Maximum number of errors in one answer. */
export const MAX_ISSUES = 100;

export interface FailedParse {
  schema: AnySchema;
  /** The caller's value, before coercion. */
  value: unknown;
  issues: readonly z.core.$ZodIssue[];
  rules: CoercionRules;
  /** Reports one error for a union instead of the errors of each member. Default false. */
  shallow?: boolean;
}

/**
 * Converts zod's issues to the errors of the wire: `type` and `loc` as in Pydantic, `msg` in plain words, `input` as it
 * was received. At most {@link MAX_ISSUES}.
 */
export function describeIssues(failed: FailedParse): ValidationIssue[] {
  const found: ValidationIssue[] = [];
  collect(failed, { found, prefix: [], depth: failed.shallow === true ? MAX_UNION_DEPTH : 0 });
  return found.slice(0, MAX_ISSUES);
}

interface Target {
  found: ValidationIssue[];
  prefix: (string | number)[];
  depth: number;
}

function collect({ schema, value, issues, rules }: FailedParse, target: Target): void {
  const unions = new Set<string>();
  for (const [index, issue] of issues.entries()) {
    if (target.found.length >= MAX_ISSUES) return;
    if (isAboutWrongType(issue, issues[index - 1])) continue;
    const at = locate(schema, value, issue.path);
    at.loc = [...target.prefix, ...at.loc];
    if (at.union && isChoice(issue, at)) {
      // Several issues can be inside one union, which reports all its members at once.
      const key = JSON.stringify(at.loc);
      if (unions.has(key)) continue;
      unions.add(key);
      collectUnion(at, at.union, { rules, target, issue });
    } else if (issue.code === "invalid_union" && !at.union && at.schema && target.depth < MAX_UNION_DEPTH) {
      // `X | null` is reported as X.
      const { error } = z.safeParse(at.schema, at.value);
      const inner = { schema: at.schema, value: at.value, issues: error?.issues ?? [], rules };
      collect(inner, { ...target, prefix: at.loc, depth: target.depth + 1 });
    } else {
      target.found.push(...describe(issue, at));
    }
  }
}

/** zod holds everything that has a `length` against the limits of a string, also an object in its place. */
function isAboutWrongType(issue: z.core.$ZodIssue, before: z.core.$ZodIssue | undefined): boolean {
  if (before?.code !== "invalid_type" || before.path.length !== issue.path.length) return false;
  return before.path.every((key, i) => key === issue.path[i]);
}

function isChoice(issue: z.core.$ZodIssue, at: LocatedIssue): boolean {
  if (at.union === undefined || isMissing(at)) return false;
  if (discriminatorOf(at.union) !== undefined) return false;
  return issue.code !== "custom" || issue.path.length > at.path.length;
}

function collectUnion(
  at: LocatedIssue,
  union: UnionSchema,
  { rules, target, issue }: { rules: CoercionRules; target: Target; issue: z.core.$ZodIssue },
): void {
  const before = target.found.length;
  if (target.depth < MAX_UNION_DEPTH) {
    for (const member of membersOf(union)) {
      let parsed = z.safeParse(member, at.value);
      if (parsed.success) continue;
      const coerced = coerce(member, at.value, { issues: parsed.error.issues, rules, depth: target.depth + 1 });
      if (coerced) parsed = z.safeParse(member, coerced.value);
      if (parsed.success) continue;
      const failed = { schema: member, value: at.value, issues: parsed.error.issues, rules };
      collect(failed, { found: target.found, prefix: [...at.loc, unionBranchName(member)], depth: target.depth + 1 });
    }
  }
  if (target.found.length > before) return;
  const msg = issue.code === "custom" ? issue.message : "Must match one of the allowed types";
  target.found.push(entry("value_error", msg, at));
}

function describe(issue: z.core.$ZodIssue, at: LocatedIssue): ValidationIssue[] {
  if (issue.code === "unrecognized_keys") return issue.keys.slice(0, MAX_ISSUES).map((key) => unknownKey(key, at));
  if (issue.code === "invalid_union" && at.union) return [wrongTag(at.union, at)];
  if (isMissing(at)) return [missingField(at.loc, at.parent)];
  if (issue.code === "too_small" && at.schema?._zod.def.type === "tuple" && Array.isArray(at.value)) {
    const given = at.value.length;
    const absent = Array.from({ length: Number(issue.minimum) - given }, (_, i) => given + i);
    return absent.map((index) => missingField([...at.loc, index], at.value));
  }
  const { type, msg, ctx } = pydanticError(issue, at);
  const loc = issue.code === "invalid_key" ? [...at.loc, "[key]"] : at.loc;
  return [entry(type, msg, { loc, value: at.value }, ctx)];
}

/** A key that an object does not declare or that a record's key schema rejects. */
function unknownKey(key: string, at: LocatedIssue): ValidationIssue {
  const loc = [...at.loc, key];
  const { def } = (at.schema ?? ({ _zod: { def: {} } } as KnownSchema))._zod;
  if (def.type !== "record") {
    const issue = extraField(loc, (at.value as Record<string, unknown>)[key]);
    const nearest = def.type === "object" ? findNearest(key, Object.keys(def.shape)) : undefined;
    return nearest === undefined ? issue : { ...issue, msg: `${issue.msg}. Did you mean "${nearest}"?` };
  }
  return entry("literal_error", "Not one of the allowed keys", { loc: [...loc, "[key]"], value: key });
}

function wrongTag(union: UnionSchema, at: LocatedIssue): ValidationIssue {
  const key = discriminatorOf(union);
  // zod's path ends at the tag, but the error is about the object that contains it.
  const inside = at.path.at(-1) === key && typeof at.value !== "object";
  const owner = inside ? { loc: at.loc.slice(0, -1), value: at.parent } : at;
  const discriminator = `'${key}'`;
  if (key === undefined || !has(owner.value, key)) {
    return entry("union_tag_not_found", `The field ${discriminator}, which selects the type, is missing`, owner, {
      discriminator,
    });
  }
  const tag = asPythonText((owner.value as Record<string, unknown>)[key]);
  const expected_tags = union._zod.def.options
    .flatMap((option) => [...(option._zod.propValues?.[key] ?? [])].map((value) => `'${String(value)}'`))
    .join(", ");
  return entry("union_tag_invalid", `The field ${discriminator} must be one of ${expected_tags}`, owner, {
    discriminator,
    tag,
    expected_tags,
  });
}

/** A tag as Python's `str` writes it. */
function asPythonText(value: unknown): unknown {
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  return typeof value === "number" ? String(value) : briefInput(value);
}

function isMissing(at: LocatedIssue): boolean {
  if (at.value !== undefined || at.path.length === 0) return false;
  return typeof at.parent === "object" && at.parent !== null;
}

/** The error for a missing required field. `parent` is the object without it. */
export function missingField(loc: readonly (string | number)[], parent: unknown): ValidationIssue {
  return entry("missing", "Field required", { loc, value: parent });
}

/** The error for an undeclared field. */
export function extraField(loc: readonly (string | number)[], input: unknown): ValidationIssue {
  return entry("extra_forbidden", "Unknown field", { loc, value: input });
}

/** The error for a value that must be an object. */
export function notAnObject(loc: readonly (string | number)[], input: unknown): ValidationIssue {
  return entry("dict_type", "Must be an object", { loc, value: input });
}

function entry(
  type: string,
  msg: string,
  at: { loc: readonly (string | number)[]; value: unknown },
  ctx?: Record<string, unknown>,
): ValidationIssue {
  const loc = at.loc.map((step) => (typeof step === "string" ? (briefInput(step) as string) : step));
  const issue: ValidationIssue = { type, loc, msg, input: briefInput(at.value) };
  if (ctx) issue.ctx = ctx;
  return issue;
}
