import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isDeeperThan, LoneSurrogateError, MAX_INPUT_DEPTH, parseJson, stringifyJson, TooDeepError } from "./json.js";

function lists(depth: number): string {
  return "[".repeat(depth) + "]".repeat(depth);
}

describe("reading", () => {
  test("takes the bare words that Python writes for NaN and infinities", () => {
    expect(parseJson('{"a":NaN,"b":[Infinity,-Infinity,1]}')).toEqual({ a: NaN, b: [Infinity, -Infinity, 1] });
    expect(parseJson(" NaN ")).toBeNaN();
  });

  test("leaves these words alone inside texts and keys", () => {
    const text = '{"NaN":"Infinity and NaN","-Infinity":"\\"NaN\\\\","n":NaN}';
    expect(parseJson(text)).toEqual({ NaN: "Infinity and NaN", "-Infinity": '"NaN\\', n: NaN });
  });

  test("never takes a text for NaN", () => {
    expect(parseJson('["\\u0000NaN",NaN]')).toEqual(["\u0000NaN", NaN]);
  });

  test.each(["", "{", "nan", "NaNa", "-NaN", "Infinity1", '{"a":NaN', "'NaN'", "--Infinity", '"NaN', "[NaN NaN]"])(
    "refuses %j",
    (text) => {
      expect(() => parseJson(text)).toThrow(SyntaxError);
    },
  );

  test(`takes ${MAX_INPUT_DEPTH} levels and refuses one more`, () => {
    expect(isDeeperThan(parseJson(lists(MAX_INPUT_DEPTH)), MAX_INPUT_DEPTH - 1)).toBe(true);
    expect(() => parseJson(lists(MAX_INPUT_DEPTH + 1))).toThrow(TooDeepError);
    expect(() => parseJson(`${'{"a":'.repeat(MAX_INPUT_DEPTH + 1)}1${"}".repeat(MAX_INPUT_DEPTH + 1)}`)).toThrow(
      TooDeepError,
    );
  });

  test("refuses a hundred thousand levels without running out of stack", () => {
    expect(() => parseJson(lists(100_000))).toThrow(TooDeepError);
    expect(() => parseJson(`[NaN,${lists(100_000)}]`)).toThrow(TooDeepError);
  });

  test("gives back what JSON.stringify wrote", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = JSON.stringify(value);
        expect(parseJson(text)).toEqual(JSON.parse(text));
      }),
    );
  });

  test("looks once at a text of millions of escapes that never ends", () => {
    expect(() => parseJson(`NaN"${'\\"'.repeat(1_000_000)}`)).toThrow(SyntaxError);
    expect(() => parseJson(`NaN${'"\\'.repeat(1_000_000)}`)).toThrow(SyntaxError);
    expect(() => parseJson(`NaN${"-".repeat(1_000_000)}`)).toThrow(SyntaxError);
  });

  test.each([
    "😀".repeat(40),
    `x${"😀".repeat(40)}`,
    `["${"😀".repeat(20)}" x "${"😀".repeat(20)}"]`,
    `[NaN,${"😀".repeat(9)}`,
  ])("says of %j what is wrong in whole characters and few words", (text) => {
    expect(() => parseJson(text)).toThrow(/^\P{Surrogate}{1,200}$/u);
  });

  test("does not run out of stack in a long text of escapes", () => {
    expect(parseJson(`["${'\\"'.repeat(200_000)}",NaN]`)).toEqual(['"'.repeat(200_000), NaN]);
  });
});

describe("writing", () => {
  test("gives whole characters as they are", () => {
    expect(stringifyJson({ a: "😀", b: "\\ud83d" })).toBe('{"a":"😀","b":"\\\\ud83d"}');
  });

  test.each([["\ud83d"], ["\ude00"], ["x\ud83dy"], ["\\\ud83d"]])("refuses half a character in %j", (text) => {
    expect(() => stringifyJson({ a: [text] })).toThrow(LoneSurrogateError);
    expect(() => stringifyJson({ [text]: 1 })).toThrow(LoneSurrogateError);
  });

  test("refuses exactly the texts that are not well formed", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), fc.boolean(), (text, broken) => {
        const value = broken ? `${text}\ud800` : text;
        if (broken) expect(() => stringifyJson(value)).toThrow(LoneSurrogateError);
        else expect(JSON.parse(stringifyJson(value))).toBe(value);
      }),
    );
  });
});
