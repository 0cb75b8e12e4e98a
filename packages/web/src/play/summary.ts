import { isObject, isToolAction } from "openenv-ts/internal";
import type { JsonObject } from "openenv-ts/protocol";
import { inWords } from "../parts/text/format.js";
import { firstEntries } from "../parts/value/entries.js";
import { pictureOf } from "../parts/value/picture.js";
import { toolErrorOf } from "./answer.js";
import type { TimelineStep } from "./timeline.js";

const LENGTH = 120;
const MAX_FIELDS = 20;

/** A short summary of the action: the called tool, its only text, or its JSON. */
export function summarizeAction({ kind, action }: TimelineStep): string {
  if (kind === "reset") return "reset";
  if (isToolAction(action)) return clip(inWords(action["tool_name"] ?? action["type"]));
  const values = Object.entries(action).filter(([key]) => key !== "metadata");
  const [only] = values;
  if (values.length === 1 && only && typeof only[1] === "string") return firstLine(only[1]);
  return listFields(values);
}

/** A short summary of the result: the error, or the first text that the previous step did not have. */
export function summarizeObservation(step: TimelineStep, before: TimelineStep | undefined): string {
  if (step.failure) return `${step.failure.code}: ${firstLine(step.failure.message)}`;
  const toolError = toolErrorOf(step.observation);
  if (toolError) return `${toolError.type}: ${firstLine(toolError.message)}`;
  const { observation } = step;
  if (observation === null) return "";
  if ("tool_name" in observation) return summarizeResult(observation["result"]);
  return (
    findText(observation, before?.observation ?? {}, 0) ??
    findText(observation, {}, 0) ??
    listFields(Object.entries(withoutStandard(observation)))
  );
}

/** True when the step or its tool call failed. */
export function isFailed(step: TimelineStep): boolean {
  return step.failure !== undefined || toolErrorOf(step.observation) !== undefined;
}

function summarizeResult(result: unknown): string {
  if (!isObject(result)) return "";
  const { data, content } = result;
  if (typeof data === "string") return firstLine(data);
  if (data !== undefined && data !== null) return beginOf(data);
  const [first] = Array.isArray(content) ? content : [];
  return isObject(first) && typeof first["text"] === "string" ? firstLine(first["text"]) : "";
}

/** The first new text, comparing the same paths in both. */
function findText(now: unknown, before: unknown, depth: number): string | undefined {
  if (typeof now === "string") {
    // For text that only grows, shows the addition.
    const added = typeof before === "string" && now.startsWith(before) ? now.slice(before.length) : now;
    return added.trim() === "" || pictureOf(now) ? undefined : firstLine(added);
  }
  if (typeof now !== "object" || now === null || depth > 4) return undefined;
  const old = (typeof before === "object" ? before : null) as JsonObject | null;
  for (const [key, value] of firstEntries(now, 50)) {
    if (depth === 0 && STANDARD.includes(key)) continue;
    const found = findText(value, old?.[key], depth + 1);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Standard fields, which are shown elsewhere. */
const STANDARD: readonly string[] = ["done", "reward", "metadata"];

/** The fields that the environment defines. */
export function withoutStandard(observation: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(observation).filter(([key]) => !STANDARD.includes(key)));
}

/** `code: print(1), language: python`, without empty fields. */
function listFields(fields: [string, unknown][]): string {
  const parts = fields
    .slice(0, MAX_FIELDS)
    .filter(([, value]) => value !== "" && value !== null)
    .map(([name, value]) => `${name}: ${typeof value === "string" ? firstLine(value) : beginOf(value)}`);
  return clip(parts.join(", "));
}

/** The beginning of the JSON of a value; does not read the rest of a large value. */
function beginOf(value: unknown, room = LENGTH): string {
  if (typeof value === "string") return pictureOf(value)?.type ?? clip(JSON.stringify(value.slice(0, room + 1)));
  if (typeof value !== "object" || value === null) return String(JSON.stringify(value));
  const isList = Array.isArray(value);
  let text = "";
  for (const [key, item] of firstEntries(value, LENGTH)) {
    if (text.length > room) break;
    text += `${text === "" ? "" : ","}${isList ? "" : `${JSON.stringify(key)}:`}${beginOf(item, room - text.length)}`;
  }
  return clip(isList ? `[${text}]` : `{${text}}`);
}

function firstLine(text: string): string {
  const picture = pictureOf(text);
  if (picture) return picture.type;
  return clip(
    text
      .slice(0, 4 * LENGTH)
      .trim()
      .replace(/\s*\n\s*/g, " · "),
  );
}

function clip(text: string): string {
  return text.length > LENGTH ? `${text.slice(0, LENGTH)}…` : text;
}
