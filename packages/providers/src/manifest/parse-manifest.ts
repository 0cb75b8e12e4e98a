import { ConfigError, clip } from "openenv-ts/internal";
import { type Document, isMap, isNode, isScalar, LineCounter, parseDocument } from "yaml";
import * as z from "zod";
import { type Manifest, manifestSchema } from "./schema.js";

/** Far above any real manifest. */
const MAX_CHARACTERS = 262_144;
const MAX_SHOWN = 60;

/**
 * Reads the text of an `openenv.yaml`; `file` is how errors call it.
 * @throws ConfigError with a line `file:LINE: what is wrong, what to write` for each problem.
 */
export function parseManifest(text: string, file: string): Manifest {
  if (text.length > MAX_CHARACTERS) throw new ConfigError(`${file}:1: is too long; a manifest has a page or two.`);
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const lineAt = (offset: number): number => lines.linePos(offset).line || 1;
  const fail = (problems: string[]): never => {
    throw new ConfigError(problems.join("\n"));
  };
  if (document.errors.length > 0) {
    fail(document.errors.map(({ message, pos }) => `${file}:${lineAt(pos[0])}: ${firstLine(message)}; mend the YAML.`));
  }
  if (!isMap(document.contents)) fail([`${file}:1: is no list of fields; write "name: my_env" and so on.`]);
  const parsed = manifestSchema.safeParse(toValue(document, file), { reportInput: true });
  if (parsed.success) return parsed.data;
  return fail(
    parsed.error.issues.map((issue) => `${file}:${lineAt(offsetOf(document, issue))}: ${describeIssue(issue)}`),
  );
}

/** Aliases that multiply are refused by the reader. */
function toValue(document: Document, file: string): unknown {
  try {
    return document.toJS();
  } catch (error) {
    throw new ConfigError(`${file}:1: ${firstLine((error as Error).message)}; write it out instead.`);
  }
}

/** Where the value stands, or what comes nearest: its key for an unknown one, the map around it for a missing one. */
function offsetOf(document: Document, issue: z.core.$ZodIssue): number {
  const path = [...issue.path];
  if (issue.code === "unrecognized_keys") {
    const map = document.getIn(path, true);
    const pair = isMap(map) ? map.items.find(({ key }) => isScalar(key) && key.value === issue.keys[0]) : undefined;
    if (isNode(pair?.key)) return pair.key.range?.[0] ?? 0;
  }
  for (; path.length > 0; path.pop()) {
    const node = document.getIn(path, true);
    if (isNode(node)) return node.range?.[0] ?? 0;
  }
  return 0;
}

function describeIssue(issue: z.core.$ZodIssue): string {
  const path = issue.path.join(".");
  if (issue.code === "unrecognized_keys") {
    return `${path} has no field "${issue.keys.join('", "')}"; remove it, or correct its name.`;
  }
  if (issue.code === "custom" && issue.params?.["complete"] === true) return `${path} ${issue.message}`;
  const meaning = meaningOf(issue.path);
  const hint = meaning === undefined ? "" : ` It is: ${meaning}.`;
  if (issue.input === undefined) return `${path} is missing; add it.${hint}`;
  const shown = JSON.stringify(issue.input) ?? String(issue.input);
  return `${path} must be ${expectation(issue)}, and is ${clip(shown, MAX_SHOWN)}.${hint}`;
}

function expectation(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case "invalid_type":
      return NAMES[issue.expected] ?? issue.expected;
    case "invalid_value":
      return issue.values.map((value) => JSON.stringify(value)).join(" or ");
    case "too_small":
      return `${issue.inclusive ? "at least" : "above"} ${issue.minimum}${unit(issue.origin)}`;
    case "too_big":
      return `${issue.inclusive ? "at most" : "below"} ${issue.maximum}${unit(issue.origin)}`;
    case "invalid_key":
      return `called otherwise, with ${issue.issues[0]?.message ?? "a name"}`;
    default:
      return issue.message;
  }
}

const NAMES: Record<string, string> = {
  string: "text (put it in quotes)",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  array: "a list",
  tuple: "a list",
  object: "a group of fields",
  record: "a group of fields",
};

function unit(origin: string): string {
  return origin === "string" ? " characters long" : origin === "array" ? " entries long" : "";
}

/** What the description of the schema says that a field is. */
function meaningOf(path: readonly PropertyKey[]): string | undefined {
  let schema: z.core.$ZodType = manifestSchema;
  for (const key of path) {
    const inner = unwrap(schema);
    const field = inner instanceof z.ZodObject ? (inner.shape as Record<PropertyKey, z.ZodType>)[key] : undefined;
    if (field === undefined) break;
    schema = field;
  }
  return schema instanceof z.ZodType && schema !== manifestSchema ? schema.description : undefined;
}

function unwrap(schema: z.core.$ZodType): z.core.$ZodType {
  const wraps = schema instanceof z.ZodOptional || schema instanceof z.ZodDefault || schema instanceof z.ZodNullable;
  return wraps ? unwrap(schema.unwrap()) : schema;
}

function firstLine(text: string): string {
  return (text.split("\n")[0] ?? "").replace(/[.:]$/, "");
}
