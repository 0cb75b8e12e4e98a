import type { OutputUnit } from "@cfworker/json-schema";
import type { RJSFSchema, RJSFValidationError } from "@rjsf/utils";
import { isObject } from "openenv-ts/internal";

/** Keywords that only pass on what a deeper one has found. */
const WRAPPERS = [
  "properties",
  "items",
  "prefixItems",
  "allOf",
  "$ref",
  "$dynamicRef",
  "patternProperties",
  "contains",
];
const UNION = /^(.*?\/(?:anyOf|oneOf))\/(\d+)(?:\/|$)/;

/** Said of what is missing. */
export const REQUIRED = "Required.";

/** What a validator has found, as sentences at the fields they are about: of a union, the choice that fits best. */
export function explainIssues(root: RJSFSchema, units: readonly OutputUnit[], value: unknown): RJSFValidationError[] {
  const leaves = units.filter(({ keyword }) => !WRAPPERS.includes(keyword));
  return pickBranches(leaves).map((unit) => explain(root, unit, value));
}

/** For each union only the errors of the branch that has the fewest; the union's own error when nothing is deeper. */
function pickBranches(units: OutputUnit[]): OutputUnit[] {
  const unions = new Map<string, Map<string, OutputUnit[]>>();
  const rest: OutputUnit[] = [];
  for (const unit of units) {
    const [, union, branch] = UNION.exec(unit.keywordLocation) ?? [];
    if (union === undefined || branch === undefined) {
      rest.push(unit);
      continue;
    }
    const key = `${union} ${unit.instanceLocation.split("/").slice(0, depthOf(union)).join("/")}`;
    const branches = unions.get(key) ?? new Map<string, OutputUnit[]>();
    branches.set(branch, [...(branches.get(branch) ?? []), unit]);
    unions.set(key, branches);
  }
  const picked = [...unions.values()].map((branches) => best([...branches.values()]));
  const own = (unit: OutputUnit): boolean => unit.keyword === "anyOf" || unit.keyword === "oneOf";
  const deeper = picked.length > 0;
  return [...rest.filter((unit) => !own(unit) || !deeper), ...picked.flatMap((branch) => pickDeeper(branch))];
}

/** How many keys of a value lie above a union: each of these keywords goes one down. */
function depthOf(union: string): number {
  const steps = union.match(/\/(?:properties\/[^/]+|items|prefixItems\/\d+|additionalProperties)(?=\/)/g);
  return 1 + (steps?.length ?? 0);
}

function pickDeeper(branch: OutputUnit[]): OutputUnit[] {
  const inner = branch.map((unit) => ({ ...unit, keywordLocation: unit.keywordLocation.replace(UNION, "$1-$2/") }));
  const picked = inner.some((unit) => UNION.test(unit.keywordLocation)) ? pickBranches(inner) : inner;
  return picked.map((unit) => ({
    ...unit,
    keywordLocation: unit.keywordLocation.replace(/(anyOf|oneOf)-(\d+)\//g, "$1/$2/"),
  }));
}

/** A branch whose fixed value is another one was not meant. */
function best(branches: OutputUnit[][]): OutputUnit[] {
  const cost = (units: OutputUnit[]): number =>
    units.reduce((sum, { keyword }) => sum + (keyword === "const" || keyword === "type" ? 100 : 1), 0);
  return branches.reduce((least, units) => (cost(units) < cost(least) ? units : least));
}

function explain(root: RJSFSchema, unit: OutputUnit, value: unknown): RJSFValidationError {
  const { keyword, instanceLocation, keywordLocation, error } = unit;
  const path = pointerKeys(instanceLocation);
  const rule = ruleAt(root, keywordLocation);
  const named = /"(.*?)"/.exec(error)?.[1];
  const about = keyword === "required" && named !== undefined ? [...path, named] : path;
  const message = sentenceFor(keyword, rule, valueAt(value, about)) ?? error;
  const property = about.map(renderKey).join("");
  return { name: keyword, message, property, stack: `${property}: ${message}`, params: {} };
}

function sentenceFor(keyword: string, rule: unknown, value: unknown): string | undefined {
  switch (keyword) {
    case "required":
      return REQUIRED;
    case "type":
      if (value === undefined || value === null) return REQUIRED;
      return `Must be ${[rule].flat().map(nounFor).join(" or ")}.`;
    case "minimum":
      return `Must be at least ${rule}.`;
    case "maximum":
      return `Must be at most ${rule}.`;
    case "exclusiveMinimum":
      return `Must be more than ${rule}.`;
    case "exclusiveMaximum":
      return `Must be less than ${rule}.`;
    case "multipleOf":
      return `Must be a multiple of ${rule}.`;
    case "minLength":
      return `Must have at least ${rule} characters.`;
    case "maxLength":
      return `Must have at most ${rule} characters.`;
    case "pattern":
      return `Must match ${rule}.`;
    case "format":
      return `Must be a valid ${rule}.`;
    case "minItems":
      return `Must have at least ${rule} items.`;
    case "maxItems":
      return `Must have at most ${rule} items.`;
    case "uniqueItems":
      return "Must not have the same item twice.";
    case "const":
      return `Must be ${JSON.stringify(rule)}.`;
    case "enum":
      return `Must be one of ${Array.isArray(rule) ? rule.map((item) => JSON.stringify(item)).join(", ") : rule}.`;
    case "anyOf":
    case "oneOf":
      return "Must match one of the choices.";
    case "additionalProperties":
    case "unevaluatedProperties":
    case "false":
      return "Unknown field.";
    default:
      return undefined;
  }
}

function nounFor(type: unknown): string {
  const nouns: Record<string, string> = {
    integer: "an integer",
    number: "a number",
    string: "a string",
    boolean: "true or false",
    array: "an array",
    object: "an object",
    null: "null",
  };
  return nouns[String(type)] ?? String(type);
}

/** The value of the keyword that failed; references on the way are followed. */
function ruleAt(root: RJSFSchema, location: string): unknown {
  let at: unknown = root;
  for (const key of pointerKeys(location)) {
    if (!isObject(at) && !Array.isArray(at)) return undefined;
    const next: unknown = (at as Record<string, unknown>)[key];
    at = key === "$ref" && typeof next === "string" ? valueAt(root, pointerKeys(next)) : next;
  }
  return at;
}

function pointerKeys(pointer: string): string[] {
  return pointer
    .split("/")
    .slice(1)
    .map((key) => decodeURIComponent(key).replaceAll("~1", "/").replaceAll("~0", "~"));
}

function valueAt(value: unknown, keys: readonly string[]): unknown {
  return keys.reduce<unknown>(
    (at, key) => (typeof at === "object" ? (at as Record<string, unknown> | null)?.[key] : undefined),
    value,
  );
}

function renderKey(key: string): string {
  if (/^\d+$/.test(key)) return `[${key}]`;
  return /^[\w$]+$/.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`;
}
