import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  LoneSurrogateError,
  MAX_INPUT_DEPTH,
  parseJson,
  stringifyJson,
  TooDeepError,
  TooManyItemsError,
} from "./json.js";

function lists(depth: number): string {
  return "[".repeat(depth) + "]".repeat(depth);
}

describe("reading", () => {
  test("accepts the bare words that Python writes for NaN and infinities", () => {
    expect(parseJson('{"a":NaN,"b":[Infinity,-Infinity,1]}')).toEqual({ a: NaN, b: [Infinity, -Infinity, 1] });
    expect(parseJson(" NaN ")).toBeNaN();
  });

  test("keeps these words inside strings and keys", () => {
    const text = '{"NaN":"Infinity and NaN","-Infinity":"\\"NaN\\\\","n":NaN}';
    expect(parseJson(text)).toEqual({ NaN: "Infinity and NaN", "-Infinity": '"NaN\\', n: NaN });
  });

  test("never reads a string as NaN", () => {
    expect(parseJson('["\\u0000NaN",NaN]')).toEqual(["\u0000NaN", NaN]);
  });

  test.each([
    "",
    "{",
    "nan",
    "NaNa",
    "-NaN",
    "Infinity1",
    '{"a":NaN',
    "'NaN'",
    "--Infinity",
    '"NaN',
    "[NaN NaN]",
    "{NaN:1}",
    "0.Infinity",
    "1NaN",
    "NaN1",
    "NaN.5",
    "1e-Infinity",
    "-[NaN]",
  ])("rejects %j", (text) => {
    expect(() => parseJson(text)).toThrow(SyntaxError);
  });

  test(`accepts ${MAX_INPUT_DEPTH} levels and rejects one more`, () => {
    expect(JSON.stringify(parseJson(` ${lists(MAX_INPUT_DEPTH)} `))).toBe(lists(MAX_INPUT_DEPTH));
    expect(() => parseJson(lists(MAX_INPUT_DEPTH + 1))).toThrow(TooDeepError);
    expect(() => parseJson(`${'{"a":'.repeat(MAX_INPUT_DEPTH + 1)}1${"}".repeat(MAX_INPUT_DEPTH + 1)}`)).toThrow(
      TooDeepError,
    );
    const half = MAX_INPUT_DEPTH / 2;
    const mixed = (more: string): string =>
      `${'{"a":'.repeat(half)}${"[".repeat(half)}${more}${"]".repeat(half)}${"}".repeat(half)}`;
    expect(parseJson(mixed('"[["'))).toBeTypeOf("object");
    expect(() => parseJson(mixed("[]"))).toThrow(TooDeepError);
  });

  test("rejects a hundred thousand levels without a stack overflow", () => {
    expect(() => parseJson(lists(100_000))).toThrow(TooDeepError);
    expect(() => parseJson(`[NaN,${lists(100_000)}]`)).toThrow(TooDeepError);
  });

  test("reads what JSON.stringify writes", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = JSON.stringify(value);
        expect(parseJson(text)).toEqual(JSON.parse(text));
      }),
    );
  });

  test("scans an unterminated string of millions of escapes once", () => {
    expect(() => parseJson(`NaN"${'\\"'.repeat(1_000_000)}`)).toThrow(SyntaxError);
    expect(() => parseJson(`NaN${'"\\'.repeat(1_000_000)}`)).toThrow(SyntaxError);
    expect(() => parseJson(`NaN${"-".repeat(1_000_000)}`)).toThrow(SyntaxError);
    expect(() => parseJson("NaN ".repeat(1_000_000))).toThrow(SyntaxError);
  });

  test.each([
    "😀".repeat(40),
    `x${"😀".repeat(40)}`,
    `["${"😀".repeat(20)}" x "${"😀".repeat(20)}"]`,
    `[NaN,${"😀".repeat(9)}`,
  ])("reports an error in %j with a short message without lone surrogates", (text) => {
    expect(() => parseJson(text)).toThrow(/^\P{Surrogate}{1,200}$/u);
  });

  test("does not overflow the stack in a long string of escapes", () => {
    expect(parseJson(`["${'\\"'.repeat(200_000)}",NaN]`)).toEqual(['"'.repeat(200_000), NaN]);
  });
});

/** Counts as documented: values and keys, where an empty list or object counts as two values and a new key as 4. */
function countItems(value: unknown, seen = new Set<string>()): number {
  if (typeof value === "string") return 3;
  if (typeof value !== "object" || value === null) return 0;
  const keys = Array.isArray(value) ? [] : Object.keys(value);
  const before = seen.size;
  for (const key of keys) seen.add(key);
  const members: unknown[] = Object.values(value);
  const own = members.length + keys.length + 11 * (seen.size - before);
  return members.reduce((sum: number, member) => sum + countItems(member, seen), Math.max(own, 1));
}

/** A simple reader of JSON with bare NaN and Infinity, for comparison. */
function parseWithReviver(text: string): unknown {
  const marked = text.replace(/"(?:[^"\\]|\\.)*"|\bNaN\b|\bInfinity\b/g, (token) =>
    token === "NaN" ? '"\\u0000NaN"' : token === "Infinity" ? "1e999" : token,
  );
  return JSON.parse(marked, (_key, value: unknown) => (value === "\u0000NaN" ? Number.NaN : value));
}

describe("the limit of items", () => {
  const spaces = fc.constantFrom(0, 1, "\t");
  const values = fc.jsonValue({ maxDepth: 6, stringUnit: "binary" });

  test("counts the same items in the text as in the parsed value", () => {
    fc.assert(
      fc.property(values, spaces, (value, space) => {
        // Longer than a short text, with all characters in one string.
        const text = JSON.stringify([value, '[{,:"\\'.repeat(400)], null, space);
        const items = countItems(JSON.parse(text));
        expect(parseJson(text, items)).toEqual(JSON.parse(text));
        expect(() => parseJson(text, items - 1)).toThrow(TooManyItemsError);
      }),
    );
  });

  test("counts the first occurrence of a key as eleven more, and a string or NaN as three more", () => {
    const render = (items: object): string => JSON.stringify(items).replaceAll('"NaN"', "NaN");
    const parse = (items: object, limit: number) => parseJson(`${render(items)}${" ".repeat(limit)}`, limit);
    const same = Array.from({ length: 100 }, () => ({ key: 0 }));
    const different = same.map((_, i) => ({ [`key ${i}`]: 0 }));
    for (const [items, least] of [
      [same, 311],
      [different, 1400],
      [Object.assign({}, ...different), 1300],
      [Array(100).fill("text"), 400],
      [Array(100).fill("NaN"), 400],
    ] as const) {
      expect(parse(items, least)).toEqual(
        JSON.parse(JSON.stringify(items), (_, item) => (item === "NaN" ? Number.NaN : item)),
      );
      expect(() => parse(items, least - 1)).toThrow(TooManyItemsError);
    }
  });

  test("names the limit and its setting", () => {
    expect(() => parseJson(JSON.stringify(Array(3000).fill(0)), 2999)).toThrow(
      "more than 2999 values and keys (MAX_MESSAGE_ITEMS): split the message or raise the limit",
    );
  });

  test("accepts a long string of structural characters, and scans an unterminated one once", () => {
    const text = '[,:{"\\]}'.repeat(1_000_000);
    expect(parseJson(JSON.stringify({ text }), 1000)).toEqual({ text });
    for (const endless of ['"', '"\\', '\\"', '\\"', "x\\"]) {
      expect(() => parseJson(`["${endless.repeat(2_000_000)}`, 1000)).toThrow(/JSON|items|MAX_MESSAGE_ITEMS/);
    }
  });

  test("reads NaN and infinities in every place of a value, as the simple reader does", () => {
    const words = ["NaN", "Infinity", "-Infinity"];
    fc.assert(
      fc.property(values, fc.integer(), spaces, (value, seed, space) => {
        let nth = seed >>> 0;
        const text = JSON.stringify(value, null, space)
          .split(/("(?:[^"\\]|\\.)*")/)
          .map((part) => (part[0] === '"' ? part : part.replace(/null|true/g, () => words[nth++ % 3] as string)))
          .join("");
        expect(parseJson(text)).toEqual(parseWithReviver(text));
        expect(parseJson(`[${text},"${"x".repeat(3000)}"]`)).toEqual([parseWithReviver(text), "x".repeat(3000)]);
      }),
    );
  });
});

describe("writing", () => {
  test("keeps surrogate pairs", () => {
    expect(stringifyJson({ a: "😀", b: "\\ud83d" })).toBe('{"a":"😀","b":"\\\\ud83d"}');
  });

  test.each([["\ud83d"], ["\ude00"], ["x\ud83dy"], ["\\\ud83d"]])("rejects a lone surrogate in %j", (text) => {
    expect(() => stringifyJson({ a: [text] })).toThrow(LoneSurrogateError);
    expect(() => stringifyJson({ [text]: 1 })).toThrow(LoneSurrogateError);
  });

  test("rejects exactly the strings that are not well formed", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), fc.boolean(), (text, broken) => {
        const value = broken ? `${text}\ud800` : text;
        if (broken) expect(() => stringifyJson(value)).toThrow(LoneSurrogateError);
        else expect(JSON.parse(stringifyJson(value))).toBe(value);
      }),
    );
  });
});
