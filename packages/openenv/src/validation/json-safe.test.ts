import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { MAX_OUTPUT_DEPTH } from "../protocol/codec/json.js";
import { InvalidOutputError, toJsonSafe } from "./json-safe.js";

function nested(levels: number): unknown {
  let value: unknown = 1;
  for (let i = 0; i < levels; i++) value = i % 2 ? [value] : { a: value };
  return value;
}

test("plain JSON passes without a copy", () => {
  const value = { a: [1, "x", null, true, { b: [] }], c: undefined };
  expect(toJsonSafe(value, "observation")).toEqual({ value, nonFinite: 0 });
  expect(toJsonSafe(value, "observation").value).toBe(value);
});

test("NaN and infinities become null in a copy and are counted", () => {
  const kept = { deep: 1 };
  const value = { a: [1, Number.NaN, { b: Infinity }], c: -Infinity, kept };
  const result = toJsonSafe(value, "observation");
  expect(result).toEqual({ value: { a: [1, null, { b: null }], c: null, kept }, nonFinite: 3 });
  expect((result.value as typeof value).kept).toBe(kept);
  expect(value.a[1]).toBeNaN();
});

test("objects with toJSON become its result", () => {
  const result = toJsonSafe({ when: new Date(0), own: { toJSON: 1 }, url: new URL("http://a/") }, "observation");
  expect(result.value).toEqual({ when: "1970-01-01T00:00:00.000Z", own: { toJSON: 1 }, url: "http://a/" });
});

test("objects without a prototype are plain", () => {
  const value = Object.assign(Object.create(null) as object, { a: 1 });
  expect(toJsonSafe(value, "x").value).toBe(value);
});

describe("a value without a JSON form is an error with its path", () => {
  class Board {
    cells = 3;
  }
  class Odd {
    toJSON(): unknown {
      return new Map();
    }
  }
  class Itself {
    toJSON(): unknown {
      return this;
    }
  }
  const loop: unknown[] = [];
  loop.push({ again: loop });
  test.each<[string, unknown, RegExp]>([
    ["a function", { a: [{ b: () => 1 }] }, /^observation\.a\[0\]\.b: a function/],
    ["a symbol", [Symbol("x")], /^observation\[0\]: a symbol/],
    ["a bigint", { n: 1n }, /^observation\.n: a bigint/],
    ["undefined in a list", { list: [1, undefined] }, /^observation\.list\[1\]: undefined/],
    ["a hole in a list", { list: new Array(1) }, /^observation\.list\[0\]: undefined/],
    ["undefined", undefined, /^observation: undefined/],
    ["a Map", { m: new Map() }, /^observation\.m: Map/],
    ["a Set", { s: new Set() }, /^observation\.s: Set/],
    ["an instance of a class", { board: new Board() }, /^observation\.board: Board/],
    ["undeclared bytes", { raw: new Uint8Array(3) }, /^observation\.raw: Uint8Array.*bytes\(\)/],
    [
      "a Buffer, which would become a list of numbers",
      { raw: Buffer.from("a") },
      /^observation\.raw: Buffer.*bytes\(\)/,
    ],
    ["a toJSON that returns a Map", { odd: new Odd() }, /^observation\.odd: Map/],
    ["a toJSON that returns itself", { me: new Itself() }, /^observation\.me: nested deeper/],
    ["a cycle", { loop }, /^[^:]*: contains itself: it is the same object as [\w.]+$/],
    ["a promise", { later: Promise.resolve(1) }, /^observation\.later: Promise/],
  ])("%s", (_what, value, message) => {
    const check = () => toJsonSafe(value, "observation");
    expect(check).toThrow(InvalidOutputError);
    expect(check).toThrow(message);
  });

  test("a long path is truncated", () => {
    const error = catchError(() => toJsonSafe({ ["k".repeat(10_000)]: [() => 1] }, "observation"));
    expect(error.message.length).toBeLessThan(400);
  });
});

test(`${MAX_OUTPUT_DEPTH} levels pass, one more does not`, () => {
  expect(toJsonSafe(nested(MAX_OUTPUT_DEPTH), "x").nonFinite).toBe(0);
  expect(() => toJsonSafe(nested(MAX_OUTPUT_DEPTH + 1), "x")).toThrow(InvalidOutputError);
});

test("a member named __proto__ is kept in the copy", () => {
  const value = JSON.parse('{"__proto__":{"a":1},"n":0}') as Record<string, unknown>;
  value["n"] = Number.NaN;
  const copy = toJsonSafe(value, "x").value as object;
  expect(JSON.stringify(copy)).toBe('{"__proto__":{"a":1},"n":null}');
  expect(Object.getPrototypeOf(copy)).toBe(Object.prototype);
});

test("every value that passes is serialised as JSON.stringify alone would do", () => {
  fc.assert(
    fc.property(fc.anything({ withBigInt: true, withDate: true, withMap: true, withSparseArray: true }), (value) => {
      let checked: unknown;
      try {
        checked = toJsonSafe(value, "x").value;
      } catch (error) {
        expect(error).toBeInstanceOf(InvalidOutputError);
        return;
      }
      expect(JSON.stringify(checked)).toBe(JSON.stringify(value));
    }),
    { numRuns: 1_000 },
  );
});

function catchError(run: () => unknown): Error {
  try {
    run();
  } catch (error) {
    return error as Error;
  }
  throw new Error("nothing was thrown");
}
