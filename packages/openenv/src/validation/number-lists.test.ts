import fc from "fast-check";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { createOutputCheck } from "./output.js";

function check(list: z.ZodType, options: { open?: boolean } = {}) {
  return createOutputCheck(z.object({ list }), { name: "observation", unchecked: options.open ?? false });
}

/** The result of a check, or the error that it throws. */
function outcome(observe: ReturnType<typeof check>, list: unknown) {
  try {
    return observe({ list });
  } catch (error) {
    return String(error);
  }
}

const KINDS: Record<string, z.ZodType> = {
  ints: z.array(z.int()),
  "ints, declared differently": z.array(z.int().describe("a pixel")).meta({ title: "Screen" }),
  floats: z.array(z.number()),
  "lists of ints": z.array(z.array(z.int())),
  "lists of lists of floats": z.array(z.array(z.array(z.number()))),
};

describe("a list of numbers", () => {
  test.each<[string, unknown]>([
    ["ints", [0, -1, 255, 2 ** 31, -(2 ** 40), Number.MAX_SAFE_INTEGER]],
    ["ints", []],
    ["ints, declared differently", [1, 2]],
    ["floats", [0.5, -1, 1e300, 5e-324]],
    ["lists of ints", [[1, 2], [], [3]]],
    ["lists of lists of floats", [[[0.5], []], []]],
  ])("of %s is passed on without a copy, in a copied object", (kind, list) => {
    const given = { list };
    const { value, nonFinite } = check(KINDS[kind] as z.ZodType)(given);
    expect(value).toEqual({ list });
    expect(value["list"]).toBe(list);
    expect(value).not.toBe(given);
    expect(nonFinite).toBe(0);
  });

  test.each<[string, unknown, RegExp]>([
    ["ints", [1, 2.5], /observation\.list\[1\]: .*found 2\.5/],
    ["ints", [1, 2 ** 53], /observation\.list\[1\]: /],
    ["ints", [1, "2", true], /observation\.list\[1\]: .*"2"; observation\.list\[2\]: .*true/],
    // biome-ignore lint/suspicious/noSparseArray: the hole is what is tested
    ["ints", [1, , 3], /observation\.list\[1\]: /],
    ["ints", Uint8Array.from([1]), /observation\.list: /],
    ["ints", { 0: 1, length: 1 }, /observation\.list: /],
    ["ints", undefined, /observation\.list: Field required/],
    ["floats", [0.5, null], /observation\.list\[1\]: .*null/],
    ["floats", [0.5, 1n], /observation\.list\[1\]: /],
    ["lists of ints", [[1], 2], /observation\.list\[1\]: /],
    ["lists of ints", [[1], [2, [3]]], /observation\.list\[1\]\[1\]: /],
    ["lists of lists of floats", [[[1]], [[1], ["x"]]], /observation\.list\[1\]\[1\]\[0\]: .*"x"/],
  ])("of %s with another item is an error that names the path", (kind, list, message) => {
    expect(() => check(KINDS[kind] as z.ZodType)({ list })).toThrow(message);
  });

  test.each<[string, unknown, unknown, number]>([
    ["floats", [1, Number.NaN, -Infinity], [1, null, null], 2],
    ["ints", [Number.NaN, 2], [null, 2], 1],
    ["lists of ints", [[1], [Infinity]], [[1], [null]], 1],
  ])("of %s has null for NaN and infinities, in a copy, and they are counted", (kind, list, sent, nonFinite) => {
    const before = structuredClone(list);
    expect(check(KINDS[kind] as z.ZodType)({ list })).toEqual({ value: { list: sent }, nonFinite });
    expect(list).toEqual(before);
  });

  test("does not hide an error, an unknown field or a NaN in another field", () => {
    const schema = z.object({ list: z.array(z.int()), other: z.number() });
    const observe = createOutputCheck(schema, { name: "observation", unchecked: false });
    expect(() => observe({ list: [1], other: "x" })).toThrow(/observation\.other: .*"x"/);
    expect(() => observe({ list: [1], other: 1, more: 1 })).toThrow(/observation\.more: Unknown field/);
    expect(observe({ list: [1], other: Number.NaN })).toEqual({ value: { list: [1], other: null }, nonFinite: 1 });
    expect(() => observe([])).toThrow(/observation: Must be an object/);
    expect(() => observe(null)).toThrow(/observation: Must be an object/);
  });

  test("in a state is kept together with undeclared members", () => {
    const state = check(z.array(z.int()), { open: true });
    expect(state({ list: [1, 2], more: [Number.NaN] })).toEqual({
      value: { list: [1, 2], more: [null] },
      nonFinite: 1,
    });
  });
});

describe("a list is copied by zod", () => {
  test.each<[string, z.ZodType]>([
    ["with limits on its items", z.array(z.int().min(0).max(255))],
    ["with a multipleOf for its items", z.array(z.number().multipleOf(0.5))],
    ["with a limit on its length", z.array(z.int()).max(3)],
    ["with a limit in an inner list", z.array(z.array(z.int()).length(2))],
    ["with a refinement of its items", z.array(z.number().refine((item) => item >= 0))],
    ["with changed items", z.array(z.number().overwrite((item) => item * 2))],
    ["with items of a narrower format", z.array(z.int32())],
    ["with lenient items", z.array(z.coerce.number())],
    ["that is optional", z.array(z.int()).optional()],
  ])("%s", (_what, schema) => {
    const nested = schema.safeParse([[1, 2]]).success;
    const list = nested ? [[1, 2]] : [1, 2];
    const { value } = check(schema)({ list });
    expect(value["list"]).toEqual(schema.parse(list));
    expect(value["list"]).not.toBe(list);
  });

  test.each<[string, z.ZodType, unknown]>([
    ["limit of an item", z.array(z.int().max(255)), [1, 256]],
    ["limit of the length", z.array(z.int()).min(2), [1]],
    ["narrower format", z.array(z.int32()), [2 ** 31]],
    ["refinement", z.array(z.number()).refine((list) => list.length % 2 === 0), [1]],
  ])("with a %s is checked", (_what, schema, list) => {
    expect(() => check(schema)({ list })).toThrow(/observation\.list/);
  });

  test("in an object with a refinement", () => {
    const schema = z.object({ list: z.array(z.int()) }).refine(({ list }) => list.length < 3, "too long");
    const observe = createOutputCheck(schema, { name: "observation", unchecked: false });
    const list = [1];
    expect(observe({ list }).value["list"]).not.toBe(list);
    expect(() => observe({ list: [1, 2, 3] })).toThrow(/too long/);
  });

  test("that is a subclass or has toJSON", () => {
    class Row extends Array<number> {}
    const row = Row.from([1, 2]);
    const odd = Object.assign([1, 2], { toJSON: () => "other" });
    const observe = check(z.array(z.int()));
    for (const list of [row, odd]) expect(JSON.stringify(observe({ list }).value)).toBe('{"list":[1,2]}');
  });
});

test("every list is accepted, rejected and coerced as when zod copies it", () => {
  const item = fc.oneof(fc.integer(), fc.double(), fc.maxSafeInteger(), fc.anything());
  const list = fc.oneof(fc.array(fc.integer()), fc.array(item), fc.array(fc.oneof(fc.array(fc.integer()), item)));
  const pairs = Object.values(KINDS).map((kind) => {
    // A refinement makes zod copy the list.
    const refined = z.object({ list: kind }).refine(() => true);
    return { quick: check(kind), copied: createOutputCheck(refined, { name: "observation", unchecked: false }) };
  });
  fc.assert(
    fc.property(list, (given) => {
      for (const { quick, copied } of pairs) expect(outcome(quick, given)).toEqual(outcome(copied, given));
    }),
    { numRuns: 500, examples: [[[{ toString: 0 }]], [[[{ toString: 0 }]]]] },
  );
});
