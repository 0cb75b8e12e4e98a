import { existsSync } from "node:fs";
import { join } from "node:path";
import { ConfigError } from "openenv-ts";
import { findNearest } from "openenv-ts/internal";
import { type Document, isMap, isNode, isScalar, LineCounter, parseDocument } from "yaml";
import * as z from "zod";
import { readAsWritten } from "./as-written.js";
import { describePython, isPythonFolder } from "./python.js";
import { type Manifest, manifestSchema } from "./schema.js";

export interface ParseOptions {
  /** The folder of the manifest; an error says how to serve a Python environment. */
  dir?: string;
  /** Gets a line for each field that is ignored. */
  onWarning?(line: string): void;
}

/** Far more than a real manifest. */
const MAX_CHARACTERS = 262_144;
const MAX_SHOWN = 60;

/**
 * Parses the text of an `openenv.yaml`. `file` is its path in error messages.
 * @throws ConfigError with one line `file:LINE: message` for each problem.
 */
export function parseManifest(text: string, file: string, { dir, onWarning }: ParseOptions = {}): Manifest {
  if (text.length > MAX_CHARACTERS)
    throw new ConfigError(`${file}:1: is longer than ${MAX_CHARACTERS} characters; shorten it.`);
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const lineAt = (offset: number): number => lines.linePos(offset).line || 1;
  const fail = (problems: string[]): never => {
    throw new ConfigError(problems.join("\n"));
  };
  if (document.errors.length > 0) {
    fail(document.errors.map(({ message, pos }) => `${file}:${lineAt(pos[0])}: ${firstLine(message)}; fix the YAML.`));
  }
  if (!isMap(document.contents)) fail([`${file}:1: must be a mapping with fields such as "name: my_env".`]);
  const given = toValue(document, file) as Record<string, unknown>;
  const isPythonProject = dir !== undefined && isPythonFolder(dir) && !existsSync(join(dir, "package.json"));
  const { value, isPython } = readAsWritten(document, given, isPythonProject);
  const parsed = manifestSchema.safeParse(value, { reportInput: true });
  if (parsed.success) {
    for (const path of findUnknown(value)) {
      onWarning?.(`${file}:${lineAt(keyOffset(document, path))}: ${describeUnknown(path)}`);
    }
    return parsed.data;
  }
  const problems = parsed.error.issues.map(
    (issue) => `${file}:${lineAt(offsetOf(document, issue))}: ${describeIssue(issue)}`,
  );
  const app = typeof value["app"] === "string" ? value["app"] : undefined;
  return fail(isPython && dir !== undefined ? [describePython(dir, app), ...problems] : problems);
}

/** The paths of fields that the schema does not have, where it lets them through. */
function findUnknown(value: Record<string, unknown>): string[][] {
  const unknown = (fields: unknown, path: string[]): string[][] =>
    Object.keys(fields ?? {})
      .filter((key) => !knownAt(path).includes(key))
      .map((key) => [...path, key]);
  return [...unknown(value, []), ...unknown(value["validation"], ["validation"])];
}

/** The names of the fields of a mapping. */
function knownAt(path: readonly PropertyKey[]): string[] {
  const schema = unwrap(schemaAt(path));
  return schema instanceof z.ZodObject ? Object.keys(schema.shape) : [];
}

function describeUnknown(path: readonly string[]): string {
  const [key = "", parent] = [path.at(-1), path.slice(0, -1)];
  const nearest = findNearest(key, knownAt(parent));
  const hint = nearest === undefined ? "" : `; did you mean ${[...parent, nearest].join(".")}?`;
  return `the unknown field ${JSON.stringify(path.join("."))} is ignored${hint}`;
}

/** The parser rejects aliases that expand exponentially. */
function toValue(document: Document, file: string): unknown {
  try {
    return document.toJS();
  } catch (error) {
    throw new ConfigError(`${file}:1: ${firstLine((error as Error).message)}; replace the aliases with their values.`);
  }
}

/** The offset of the value, of its key for an unknown field, or of the parent for a missing field. */
function offsetOf(document: Document, issue: z.core.$ZodIssue): number {
  const path = [...issue.path];
  if (issue.code === "unrecognized_keys") return keyOffset(document, [...path, issue.keys[0] ?? ""]);
  for (; path.length > 0; path.pop()) {
    const node = document.getIn(path, true);
    if (isNode(node)) return node.range?.[0] ?? 0;
  }
  return 0;
}

function keyOffset(document: Document, path: readonly PropertyKey[]): number {
  const map = path.length > 1 ? document.getIn(path.slice(0, -1), true) : document.contents;
  const pair = isMap(map) ? map.items.find(({ key }) => isScalar(key) && key.value === path.at(-1)) : undefined;
  return isNode(pair?.key) ? (pair.key.range?.[0] ?? 0) : 0;
}

function describeIssue(issue: z.core.$ZodIssue): string {
  const path = issue.path.join(".");
  if (issue.code === "unrecognized_keys") {
    const nearest = findNearest(issue.keys[0] ?? "", knownAt(issue.path));
    const hint = nearest === undefined ? "correct its name" : `use ${nearest}`;
    return `${path} has the unknown field "${issue.keys.join('", "')}"; remove it, or ${hint}.`;
  }
  if (issue.code === "custom" && issue.params?.["complete"] === true) return `${path} ${issue.message}`;
  const meaning = meaningOf(issue.path);
  const hint = meaning === undefined ? "" : ` (${meaning})`;
  if (issue.input === undefined) return `${path} is required${hint}.`;
  const shown = JSON.stringify(issue.input) ?? String(issue.input);
  return `${path} must be ${expectation(issue)}, got ${shown.slice(0, MAX_SHOWN).toWellFormed()}${hint}.`;
}

function expectation(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case "invalid_type":
      return NAMES[issue.expected] ?? issue.expected;
    case "invalid_value":
      return issue.values.map((value) => JSON.stringify(value)).join(" or ");
    case "too_small":
      return `${issue.inclusive ? "at least" : "greater than"} ${issue.minimum}${unit(issue.origin)}`;
    case "too_big":
      return `${issue.inclusive ? "at most" : "less than"} ${issue.maximum}${unit(issue.origin)}`;
    case "invalid_key":
      return `renamed to ${issue.issues[0]?.message ?? "a valid name"}`;
    default:
      return issue.message;
  }
}

const NAMES: Record<string, string> = {
  string: "a string (put it in quotes)",
  number: "a number",
  int: "an integer",
  boolean: "true or false",
  array: "a list",
  tuple: "a list",
  object: "a mapping",
  record: "a mapping",
};

function unit(origin: string): string {
  return origin === "string" ? " characters long" : origin === "array" ? " items long" : "";
}

/** The description of a field in the schema. */
function meaningOf(path: readonly PropertyKey[]): string | undefined {
  const schema = schemaAt(path);
  return schema instanceof z.ZodType && schema !== manifestSchema ? schema.description : undefined;
}

/** The schema of the innermost declared field of a path. */
function schemaAt(path: readonly PropertyKey[]): z.core.$ZodType {
  let schema: z.core.$ZodType = manifestSchema;
  for (const key of path) {
    const inner = unwrap(schema);
    const field = inner instanceof z.ZodObject ? (inner.shape as Record<PropertyKey, z.ZodType>)[key] : undefined;
    if (field === undefined) break;
    schema = field;
  }
  return schema;
}

function unwrap(schema: z.core.$ZodType): z.core.$ZodType {
  const wraps = schema instanceof z.ZodOptional || schema instanceof z.ZodDefault || schema instanceof z.ZodNullable;
  return wraps ? unwrap(schema.unwrap()) : schema;
}

function firstLine(text: string): string {
  return (text.split("\n")[0] ?? "").replace(/[.:]$/, "");
}
