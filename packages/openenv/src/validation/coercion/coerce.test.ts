import fc from "fast-check";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { type CoercionRules, coerce } from "./coerce.js";
import { CopyOnWrite } from "./copy-on-write.js";

const INPUT: CoercionRules = { scalars: true, nonFinite: "free" };

/** The parsed value after one coercion; undefined when it is still rejected. */
function lenient(schema: z.ZodType, value: unknown, rules = INPUT): unknown {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const coerced = coerce(schema, value, { issues: parsed.error.issues, rules });
  return coerced && schema.safeParse(coerced.value).data;
}

test.each<[z.ZodType, unknown, unknown]>([
  [z.int(), "4", 4],
  [z.int(), " 4 ", 4],
  [z.int(), "4.0", 4],
  [z.int(), "+5", 5],
  [z.int(), "-0", 0],
  [z.int(), "04", 4],
  [z.int(), "1_000", 1000],
  [z.int(), true, 1],
  [z.int(), false, 0],
  [z.number().int().min(3), "4", 4],
  [z.number(), "4.5", 4.5],
  [z.number(), ".5", 0.5],
  [z.number(), "5.", 5],
  [z.number(), "1e3", 1000],
  [z.number(), true, 1],
  [z.boolean(), "yes", true],
  [z.boolean(), "No", false],
  [z.boolean(), "ON", true],
  [z.boolean(), "t", true],
  [z.boolean(), "F", false],
  [z.boolean(), "1", true],
  [z.boolean(), 1, true],
  [z.boolean(), 0, false],
  [z.int().nullable().default(null), "4", 4],
  [z.array(z.int()), ["1", 2, true], [1, 2, 1]],
  [
    z.object({ a: z.object({ b: z.array(z.object({ c: z.int() })) }) }),
    { a: { b: [{ c: "1" }] } },
    { a: { b: [{ c: 1 }] } },
  ],
  [z.record(z.string(), z.number()), { constructor: "1" }, { constructor: 1 }],
  [z.tuple([z.int(), z.string()]), ["1", "1"], [1, "1"]],
  [z.union([z.int(), z.string()]), "4", "4"],
  [z.union([z.int(), z.string()]), true, 1],
  [z.union([z.number(), z.boolean()]), "yes", true],
  [z.union([z.number(), z.boolean()]), "4", 4],
  [z.union([z.object({ a: z.int() }), z.object({ b: z.int() })]), { b: "1" }, { b: 1 }],
  [z.union([z.object({ a: z.int() }), z.null()]), { a: "1" }, { a: 1 }],
  [
    z.discriminatedUnion("k", [z.object({ k: z.literal("a"), v: z.int() }), z.object({ k: z.literal("b") })]),
    { k: "a", v: "1" },
    { k: "a", v: 1 },
  ],
  [z.array(z.union([z.int(), z.array(z.int())])), ["1", ["2"]], [1, [2]]],
  [z.number(), Number.NaN, 0],
])("%o accepts %j as %j", (schema, value, taken) => {
  expect(lenient(schema, value)).toEqual(taken);
});

test.each<[z.ZodType, unknown]>([
  [z.int(), "abc"],
  [z.int(), ""],
  [z.int(), "4.5"],
  [z.int(), "4."],
  [z.int(), "1e3"],
  [z.int(), "0x10"],
  [z.int(), "1__0"],
  [z.int(), "Infinity"],
  [z.int(), 4.5],
  [z.int(), null],
  [z.int(), [1]],
  [z.int(), `1${"0".repeat(500)}`],
  [z.int(), Number.NaN],
  [z.number().min(1), Number.NaN],
  [z.number(), ""],
  [z.number(), null],
  [z.boolean(), "y "],
  [z.boolean(), 2],
  [z.boolean(), null],
  [z.string(), 4],
  [z.string(), true],
  [z.union([z.int(), z.boolean()]), "abc"],
])("%o rejects %j", (schema, value) => {
  expect(lenient(schema, value)).toBeUndefined();
});

describe("the value itself", () => {
  test("is copied only along the coerced path", () => {
    const schema = z.object({ a: z.object({ n: z.int() }), b: z.object({ m: z.int() }) });
    const value = { a: { n: "1" }, b: { m: 1 } };
    const issues = schema.safeParse(value).error?.issues ?? [];
    const coerced = coerce(schema, value, { issues, rules: INPUT })?.value as typeof value;
    expect(coerced).toEqual({ a: { n: 1 }, b: { m: 1 } });
    expect(coerced.b).toBe(value.b);
    expect(value.a.n).toBe("1");
  });

  test("keeps a member named __proto__", () => {
    const schema = z.object({ n: z.int() });
    const value = JSON.parse('{"n":"1","__proto__":{"polluted":true}}') as object;
    const issues = schema.safeParse(value).error?.issues ?? [];
    const coerced = coerce(schema, value, { issues, rules: INPUT })?.value as object;
    expect(Object.getPrototypeOf(coerced)).toBe(Object.prototype);
    expect(Object.hasOwn(coerced, "__proto__")).toBe(true);
  });

  test("is not coerced where a declared field is only inherited", () => {
    const schema = z.object({ constructor: z.int(), valueOf: z.boolean() });
    expect(lenient(schema, {})).toBeUndefined();
  });
});

test("a container is copied only once when several of its members change", () => {
  const draft = new CopyOnWrite({ list: [1, 2] });
  expect(draft.set(["list", 0], 3)).toBe(true);
  const { list } = draft.value as { list: number[] };
  expect(draft.set(["list", 1], 4)).toBe(true);
  expect((draft.value as { list: number[] }).list).toBe(list);
  expect(list).toEqual([3, 4]);
  expect(draft.set(["list", 2], 5)).toBe(false);
});

describe("NaN and infinities", () => {
  const issuesOf = (schema: z.ZodType, value: unknown) => schema.safeParse(value).error?.issues ?? [];

  test("of an environment get a placeholder that fits the schema, and their path is reported", () => {
    const schema = z.object({ list: z.array(z.number().min(3).max(4)), more: z.union([z.string(), z.number().gt(0)]) });
    const value = { list: [3, Number.NaN], more: Infinity };
    const rules: CoercionRules = { scalars: false, nonFinite: "any" };
    const coerced = coerce(schema, value, { issues: issuesOf(schema, value), rules });
    expect(coerced?.nonFinite.map(({ path }) => path)).toEqual([["list", 1], ["more"]]);
    expect(schema.safeParse(coerced?.value).success).toBe(true);
  });

  test("are the only values of an environment that are coerced", () => {
    const rules: CoercionRules = { scalars: false, nonFinite: "any" };
    expect(coerce(z.int(), "4", { issues: issuesOf(z.int(), "4"), rules })).toBeUndefined();
  });
});

test("a list of long strings that are almost numbers is rejected in linear time", () => {
  const text = `${"1".repeat(390)}x`;
  expect(lenient(z.array(z.number()), Array(100_000).fill(text))).toBeUndefined();
});

test("coercion never throws and never changes its input", () => {
  const Tree: z.ZodType = z.lazy(() =>
    z.union([z.int(), z.object({ kids: z.array(Tree) }), z.record(z.string(), Tree)]),
  );
  const schema = z.strictObject({
    n: z.int().optional(),
    x: z.number().nullable(),
    flags: z.array(z.boolean()),
    either: z.union([z.int(), z.object({ a: z.number() }), z.array(z.boolean())]),
    pair: z.tuple([z.int(), z.boolean()]),
    table: z.record(z.string(), z.int()),
    tree: Tree,
  });
  const scalar = fc.constantFrom("4", "yes", " 1.0 ", true, null, 1.5, Number.NaN, "abc");
  const anything = fc.oneof(fc.anything({ maxDepth: 4 }), scalar, fc.dictionary(fc.string(), scalar), fc.array(scalar));
  const value = fc.record(
    { n: anything, x: anything, flags: anything, either: anything, pair: anything, table: anything, tree: anything },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(value, (given) => {
      const before = fc.stringify(given);
      const { error } = schema.safeParse(given);
      if (error) coerce(schema, given, { issues: error.issues, rules: INPUT });
      expect(fc.stringify(given)).toBe(before);
    }),
    { numRuns: 2_000 },
  );
});
