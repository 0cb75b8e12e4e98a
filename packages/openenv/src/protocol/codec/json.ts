import { clip } from "../../util/text/clip.js";
import { KeySet } from "./key-set.js";

/** Maximum nesting of arrays and objects accepted from a peer. */
export const MAX_INPUT_DEPTH = 1000;
/** Maximum nesting that is sent; the Python package has the same limit. */
export const MAX_OUTPUT_DEPTH = 255;

/** Default limit of items in one message. Reading and validating this many takes about 60 ms at most. */
export const MAX_MESSAGE_ITEMS = 250_000;

/** What a string, NaN or an infinity counts in addition to its place: reading one takes as long as four numbers. */
export const STRING_ITEMS = 3;

/** No message has more items for each character: the densest are objects with keys of one character and empty strings. */
const ITEMS_PER_CHARACTER = 2.5;

/** Shorter texts cannot exceed the depth limit: each level takes two characters. */
const SHORT = 2 * MAX_INPUT_DEPTH;

export class TooDeepError extends Error {}

export class TooManyItemsError extends Error {
  constructor(maxItems: number) {
    super(`more than ${maxItems} values and keys (MAX_MESSAGE_ITEMS): split the message or raise the limit`);
  }
}

/**
 * Parses one frame or body. Python writes NaN and infinities as bare words, so a text that is not valid JSON is parsed
 * a second time with these words read as numbers.
 * @param maxItems limit of values and keys; an empty list or object counts as two values, a string, NaN or infinity as
 * {@link STRING_ITEMS} more, and the first occurrence of a key as {@link NEW_KEY_ITEMS} more.
 * @throws SyntaxError when the text is not JSON, TooDeepError when it nests deeper than {@link MAX_INPUT_DEPTH},
 * TooManyItemsError. The last two are detected before the value is allocated.
 */
export function parseJson(text: string, maxItems = Number.POSITIVE_INFINITY): unknown {
  const mayHaveTooMuch = text.length * ITEMS_PER_CHARACTER > maxItems || (text.length > SHORT && hasManyBrackets(text));
  const items = mayHaveTooMuch ? countItems(text, maxItems) : text.length;
  try {
    return JSON.parse(text);
  } catch (error) {
    if (!text.includes("NaN") && !text.includes("Infinity")) throw asSyntaxError(error);
    return parseWithNonFinite(text, items);
  }
}

/**
 * True when there are enough opening brackets, also in strings, to nest too deeply. The native search is fast for lists
 * of numbers.
 */
function hasManyBrackets(text: string): boolean {
  return hasMoreThan(text, "[", MAX_INPUT_DEPTH / 2) || hasMoreThan(text, "{", MAX_INPUT_DEPTH / 2);
}

function hasMoreThan(text: string, character: string, limit: number): boolean {
  let count = 0;
  for (let at = text.indexOf(character); at >= 0; at = text.indexOf(character, at + 1)) {
    if (++count > limit) return true;
  }
  return false;
}

/** The kinds of characters outside of strings in {@link countItems}. */
const SEPARATOR = 1;
const OPEN = 2;
const CLOSE = 3;
const QUOTED = 4;
const COLON = 5;
const WORD = 6;
const KINDS = new Uint8Array(128);
for (const [kind, characters] of [
  [SEPARATOR, ","],
  [OPEN, "[{"],
  [CLOSE, "]}"],
  [QUOTED, '"'],
  [COLON, ":"],
  [WORD, "NI"],
] as const) {
  for (const character of characters) KINDS[character.charCodeAt(0)] = kind;
}

/**
 * Counts the structural characters of a text, which may be invalid JSON: n for a list of n values, 2n for an object
 * with n keys, 1 for an empty list or object. Strings, new keys, NaN and infinities count more. Parsing allocates memory
 * for each item, so a message with too many is rejected first.
 */
function countItems(text: string, maxItems: number): number {
  const keys = new KeySet();
  let items = 0;
  let depth = 0;
  /** Range of the latest string, which is a key if a colon follows. */
  let start = 0;
  let end = 0;
  for (let at = 0; at < text.length; at++) {
    const kind = KINDS[text.charCodeAt(at)];
    if (kind === SEPARATOR) {
      if (++items > maxItems) throw new TooManyItemsError(maxItems);
    } else if (kind === OPEN) {
      if (++items > maxItems) throw new TooManyItemsError(maxItems);
      if (++depth > MAX_INPUT_DEPTH) throw new TooDeepError(`nested deeper than ${MAX_INPUT_DEPTH} levels`);
    } else if (kind === CLOSE) {
      depth--;
    } else if (kind === QUOTED) {
      start = at + 1;
      at = end = endOfString(text, start) - 1;
      items += STRING_ITEMS;
    } else if (kind === COLON) {
      // The string was a key.
      items += 1 + keys.countText(text, start, end) - STRING_ITEMS;
      if (items > maxItems) throw new TooManyItemsError(maxItems);
    } else if (kind === WORD) {
      items += STRING_ITEMS;
      // The second N of NaN.
      at += 2;
    }
  }
  if (items > maxItems) throw new TooManyItemsError(maxItems);
  return items;
}

export class LoneSurrogateError extends Error {}

/**
 * Serialises a frame or body. `text`: its JSON, if it is known.
 * @throws LoneSurrogateError for a lone surrogate in a string, which Python cannot encode;
 * TypeError for a bigint or a cycle; RangeError when the value is nested too deeply.
 */
export function stringifyJson(value: unknown, text = JSON.stringify(value)): string {
  // JSON.stringify escapes only lone surrogates, not surrogate pairs.
  if (text.includes("\\ud") && hasLoneSurrogate(text)) {
    throw new LoneSurrogateError("a string holds a lone surrogate (half a character)");
  }
  return text;
}

function hasLoneSurrogate(text: string): boolean {
  return /(?<!\\)(?:\\\\)*\\ud[89a-f]/.test(text);
}

/** Parses a text with bare NaN and Infinity. Its depth has been checked. */
function parseWithNonFinite(text: string, items: number): unknown {
  // A random placeholder for NaN while the text is parsed. It is a number, so that it stays a syntax error in place of
  // a key. It has 15 digits and this exponent because V8 parses such numbers much faster than others.
  const mark = `${Math.floor((1 + 9 * Math.random()) * 1e14)}e22`;
  try {
    return restoreNaN(JSON.parse(replaceNonFinite(text, mark, items)), Number(mark));
  } catch (error) {
    throw asSyntaxError(error);
  }
}

/** Reads each character once, also of invalid JSON: a peer may send millions of characters. */
function replaceNonFinite(text: string, mark: string, items: number): string {
  let replaced = "";
  let left = items + 1;
  let from = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfString(text, at + 1) - 1;
    if (code !== UPPER_N && code !== UPPER_I) continue;
    const word = code === UPPER_N ? "NaN" : "Infinity";
    if (!text.startsWith(word, at)) continue;
    // More words than values: this is not JSON, so stop here.
    if (left-- === 0) break;
    // Spaces around the placeholder keep a word inside another word or number a syntax error.
    const isNegative = word === "Infinity" && text.charCodeAt(at - 1) === MINUS;
    replaced += text.slice(from, at) + (word === "NaN" ? ` ${mark} ` : isNegative ? "1e999 " : " 1e999 ");
    at += word.length - 1;
    from = at + 1;
  }
  return replaced + text.slice(from);
}

/** Recursion is safe: the depth of the text has been checked. */
function restoreNaN(value: unknown, mark: number): unknown {
  if (value === mark) return Number.NaN;
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) {
      const item: unknown = value[i];
      if (item === mark) value[i] = Number.NaN;
      else if (typeof item === "object") restoreNaN(item, mark);
    }
    return value;
  }
  const members = value as Record<string, unknown>;
  for (const key of Object.keys(members)) {
    const member = members[key];
    if (member === mark) members[key] = Number.NaN;
    else if (typeof member === "object") restoreNaN(member, mark);
  }
  return value;
}

/** Longer strings are searched natively for their end. */
const LONG_STRING = 32;

/** Index after the string that begins at `start`, or the end of the text when the string is not terminated. */
function endOfString(text: string, start: number): number {
  let at = start;
  for (;;) {
    for (const near = Math.min(at + LONG_STRING, text.length); at < near; at++) {
      const code = text.charCodeAt(at);
      if (code === QUOTE) return at + 1;
      if (code === BACKSLASH) at++;
    }
    const quote = text.indexOf('"', at);
    if (quote < 0) return text.length;
    let slashes = quote;
    while (slashes > at && text.charCodeAt(slashes - 1) === BACKSLASH) slashes--;
    at = quote + 1;
    if ((quote - slashes) % 2 === 0) return at;
  }
}

const QUOTE = 0x22;
const MINUS = 0x2d;
const UPPER_I = 0x49;
const UPPER_N = 0x4e;
const BACKSLASH = 0x5c;

/**
 * V8 quotes part of the text and may cut a surrogate pair. There is no `cause`, because its message would be logged
 * twice.
 */
function asSyntaxError(error: unknown): SyntaxError {
  return new SyntaxError(clip((error as Error).message, MAX_MESSAGE));
}

const MAX_MESSAGE = 200;
