import { clip } from "../util/clip.js";

/** Deepest nesting of arrays and objects that is read from a peer. */
export const MAX_INPUT_DEPTH = 1000;
/** Deepest nesting that is sent; the reference serialises no deeper either. */
export const MAX_OUTPUT_DEPTH = 255;

export class TooDeepError extends Error {}

/**
 * Parses one frame or body. Python writes NaN and infinities as bare words, so a text that is
 * no JSON is tried once more with those read as numbers.
 * @throws SyntaxError when the text is no JSON, TooDeepError when it nests deeper than {@link MAX_INPUT_DEPTH}.
 */
export function parseJson(text: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    if (!/NaN|Infinity/.test(text)) throw asSyntaxError(error);
    value = parseWithNonFinite(text);
  }
  // A nesting of n takes at least 2n characters: short frames need no look.
  if (text.length > 2 * MAX_INPUT_DEPTH && isDeeperThan(value, MAX_INPUT_DEPTH)) {
    throw new TooDeepError(`nested deeper than ${MAX_INPUT_DEPTH} levels`);
  }
  return value;
}

/** True when arrays and objects nest deeper than `limit`. Never recurses deeper than that. */
export function isDeeperThan(value: unknown, limit: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (limit === 0) return true;
  if (Array.isArray(value)) {
    for (const item of value) if (typeof item === "object" && isDeeperThan(item, limit - 1)) return true;
    return false;
  }
  for (const key in value) {
    const item = (value as Record<string, unknown>)[key];
    if (typeof item === "object" && isDeeperThan(item, limit - 1)) return true;
  }
  return false;
}

export class LoneSurrogateError extends Error {}

/**
 * Serialises a frame or body.
 * @throws LoneSurrogateError when a string holds half a character, which Python cannot encode;
 * TypeError for a bigint or a cycle; RangeError when it nests too deep.
 */
export function stringifyJson(value: unknown): string {
  const text = JSON.stringify(value);
  // JSON.stringify writes whole pairs as they are and escapes only lone halves.
  if (text.includes("\\ud") && hasLoneSurrogate(text)) {
    throw new LoneSurrogateError("a string holds a lone surrogate (half a character)");
  }
  return text;
}

function hasLoneSurrogate(text: string): boolean {
  return /(?<!\\)(?:\\\\)*\\ud[89a-f]/.test(text);
}

function parseWithNonFinite(text: string): unknown {
  // Stands for NaN until the text is parsed; nobody can send it as a text of their own.
  const mark = `\u0000NaN${Math.random()}`;
  try {
    return JSON.parse(replaceNonFinite(text, mark), (_key, value: unknown) => (value === mark ? Number.NaN : value));
  } catch (error) {
    // Other than JSON.parse alone, its callback recurses.
    if (error instanceof RangeError) throw new TooDeepError(`nested deeper than ${MAX_INPUT_DEPTH} levels`);
    throw asSyntaxError(error);
  }
}

/** Looks at each character once, whatever the text is: a peer may send millions that are no JSON. */
function replaceNonFinite(text: string, mark: string): string {
  const tokens = /"|\bNaN\b|\bInfinity\b/g;
  let mended = "";
  let from = 0;
  for (let found = tokens.exec(text); found !== null; found = tokens.exec(text)) {
    if (found[0] === '"') {
      tokens.lastIndex = endOfString(text, found.index + 1);
      continue;
    }
    mended += text.slice(from, found.index) + (found[0] === "NaN" ? JSON.stringify(mark) : "1e999");
    from = tokens.lastIndex;
  }
  return mended + text.slice(from);
}

/** Where the text goes on behind the string that begins at `start`; its end when the string has none. */
function endOfString(text: string, start: number): number {
  for (let at = start; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) return at + 1;
    if (code === BACKSLASH) at++;
  }
  return text.length;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** V8 quotes a piece of the text, cut anywhere: its message may hold half a character. */
function asSyntaxError(error: unknown): SyntaxError {
  return new SyntaxError(clip((error as Error).message, MAX_MESSAGE), { cause: error });
}

const MAX_MESSAGE = 200;
