import { type ConversationMessage, chatOf, partOf } from "./chat.js";
import { sizeOf } from "./entries.js";
import { pictureOf, soundOf } from "./picture.js";
import { type TableShape, tableOf } from "./table.js";

/** The one form in which an object or a list is shown. */
export type Rendering =
  | { kind: "parts"; parts: unknown[] }
  | { kind: "chat"; messages: ConversationMessage[] }
  | { kind: "table"; shape: TableShape }
  | { kind: "list"; items: readonly unknown[] }
  | { kind: "json" | "tree" };

/** Objects and lists up to this size, in characters of JSON, are shown in full. */
const WRITTEN_OUT = 600;
const LONG_TEXT = 160;
const LONG_LIST = 20;
/** Longer text that looks like JSON stays text. */
const MAX_JSON = 200_000;

export function renderingOf(value: object): Rendering {
  if (Array.isArray(value)) {
    const parts = value.map((item) => (typeof item === "object" && item !== null ? partOf(item) : undefined));
    if (parts.length > 0 && !parts.includes(undefined)) return { kind: "parts", parts };
    const messages = chatOf(value);
    if (messages) return { kind: "chat", messages };
    const shape = value.length > 1 ? tableOf(value) : undefined;
    if (shape) return { kind: "table", shape };
    if (value.length > LONG_LIST && value.every(isShort)) return { kind: "list", items: value };
  } else {
    const part = partOf(value);
    if (part !== undefined) return { kind: "parts", parts: [part] };
  }
  return { kind: isSmall(value) ? "json" : "tree" };
}

/** The form in which a text is shown. */
export function textKindOf(text: string): "json" | "markdown" | "text" {
  const start = text.slice(0, READ);
  if (text.length <= MAX_JSON && /^\s*[[{]/.test(start) && parseJson(text) !== undefined) return "json";
  return MARKDOWN.some((sign) => sign.test(start)) && !NESTED.test(start) ? "markdown" : "text";
}

/** The object or list that a text has as JSON. */
export function parseJson(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

/** The beginning of a text decides. */
const READ = 4000;
/** Signs that other text rarely has: a fence, a heading, a table, bold words, a link. Lists read well as they are. */
const MARKDOWN = [
  /^ {0,3}(?:```|~~~)/m,
  /^#{1,6} [^\n]+\n[ \t]*\n/m,
  /^\|?[ :]*-{3,}[ :]*\|[-| :]*$/m,
  /(?:^|[\s(])\*\*[^\s*][^*\n]*\*\*(?=[\s.,:;!?)]|$)/m,
  /\[[^\]\n]{1,200}\]\([^\s)]{1,500}\)/,
];
/** Deep nesting takes a parser long; people do not write it. */
const NESTED = /^[ \t]*(?:[>*+-][ \t]*){20}|[[*_]{40}/m;

function isShort(item: unknown): boolean {
  return typeof item === "string" ? item.length <= 40 && !pictureOf(item) : typeof item !== "object" || item === null;
}

/** Stops early, because a value may have any size. */
function isSmall(value: object): boolean {
  let budget = WRITTEN_OUT;
  const visit = (item: unknown, depth: number): void => {
    budget -= typeof item === "string" ? item.length + 2 : 6;
    // Text of several lines, pictures and sounds are rendered, not shown as JSON strings.
    if (typeof item === "string" && isLong(item)) budget = -1;
    if (budget < 0 || typeof item !== "object" || item === null) return;
    if (depth > 4 || sizeOf(item) > WRITTEN_OUT) budget = -1;
    if (budget < 0) return;
    for (const [key, inner] of Object.entries(item)) {
      budget -= key.length;
      visit(inner, depth + 1);
      if (budget < 0) return;
    }
  };
  visit(value, 0);
  return budget >= 0;
}

function isLong(text: string): boolean {
  return text.length > LONG_TEXT || text.trim().includes("\n") || !!pictureOf(text) || !!soundOf(text);
}
