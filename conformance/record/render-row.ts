import { MEMBERS } from "../replay/compare.js";
import type { RecordedAnswer } from "../replay/load.js";

type Json = { [key: string]: unknown };

/** Stands before the digits of a number that JavaScript would write in another way: 2.0, or an integer over 2^53. */
const NUMBER = "\u0000number:";

/**
 * The line of a transcript with the members of another answer. What did not change stays as it was written, in the order in
 * which it was; what a transcript leaves out of an answer (other headers, parts of a schema) stays out.
 */
export function renderRow(line: string, answer: RecordedAnswer): string {
  const recorded = parse(line) as Json;
  const row = { ...recorded };
  for (const member of MEMBERS) {
    if (!(member in row)) {
      if (member in answer && isRecorded(member, recorded, answer)) row[member] = answer[member];
    } else if (!(member in answer)) delete row[member];
    else if (member === "response_headers") row[member] = pick(row[member] as Json, answer[member] ?? {});
    else if (member === "closed_by_server") Object.assign(row[member] as Json, answer[member]);
    else if (row["path"] === "/schema" && member === "response") {
      row[member] = merge(row[member], pick(row[member] as Json, answer[member] as Json));
    } else row[member] = merge(row[member], answer[member]);
  }
  return render(row);
}

/** Every answer has headers and a type, which not every row has. A text may be there in the place of JSON. */
function isRecorded(member: string, recorded: Json, answer: RecordedAnswer): boolean {
  if (member === "response_headers" || member === "content_type") return false;
  if (member === "response") return "response_text" in recorded;
  if (member === "response_text") return "response" in recorded && !("response" in answer);
  return true;
}

function pick(recorded: Json, now: Json): Json {
  return Object.fromEntries(Object.keys(recorded).map((key) => [key, now[key] ?? null]));
}

function merge(recorded: unknown, now: unknown): unknown {
  if (Array.isArray(recorded) && Array.isArray(now)) return now.map((item, i) => merge(recorded[i], item));
  if (!isObject(recorded) || !isObject(now)) return isSame(recorded, now) ? recorded : now;
  const kept = Object.entries(recorded).filter(([key]) => key in now || key.startsWith("send"));
  const merged = kept.map(([key, value]) => [key, key in now ? merge(value, now[key]) : value]);
  return {
    ...Object.fromEntries(merged),
    ...Object.fromEntries(Object.entries(now).filter(([key]) => !(key in recorded))),
  };
}

function isSame(recorded: unknown, now: unknown): boolean {
  if (typeof recorded !== "string" || !recorded.startsWith(NUMBER)) return recorded === now;
  return Number(recorded.slice(NUMBER.length)) === now;
}

function parse(line: string): unknown {
  const marked = line.replace(/"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g, (token) => {
    const rewritten = token.startsWith('"') || String(Number(token)) === token;
    return rewritten ? token : JSON.stringify(NUMBER + token);
  });
  return JSON.parse(marked);
}

/** As Python writes JSON. */
function render(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(render).join(", ")}]`;
  if (isObject(value)) {
    return `{${Object.entries(value)
      .map(([key, member]) => `${JSON.stringify(key)}: ${render(member)}`)
      .join(", ")}}`;
  }
  if (typeof value === "string" && value.startsWith(NUMBER)) return value.slice(NUMBER.length);
  return JSON.stringify(value);
}

function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
