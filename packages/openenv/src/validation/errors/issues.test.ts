import { describe, expect, test } from "vitest";
import * as z from "zod";
import { defineContract } from "../../contract/contract.js";
import { datetime } from "../../contract/fields.js";
import type { ValidationIssue } from "../../errors.js";
import { createValidator } from "../validate.js";
import { MAX_ISSUES } from "./issues.js";

/** The errors of the Python package for an environment with a field of every kind, recorded, and for more kinds. */
const Color = z.enum(["red", "blue"]).meta({ id: "Color" });
const Point = z.object({ x: z.int(), y: z.number().default(0.5) }).meta({ id: "Point" });
const kinds = z.object({
  text: z.string().min(1).max(20),
  whole: z.int().min(0).max(10).default(3),
  ratio: z.number().gt(0).lt(1).default(0.25),
  flag: z.boolean().default(false),
  color: Color.default("red"),
  pick: z.literal(["a", "b"]).default("a"),
  maybe: z.int().nullable().default(null),
  items: z.array(z.int()).max(3).default([]),
  table: z.record(z.string(), z.number()).default({}),
  point: Point.optional(),
  maybe_point: Point.nullable().default(null),
  points: z.array(Point).default([]),
  either: z.union([z.int(), z.string()]).default(0),
  pair: z.tuple([z.int(), z.string()]).default([1, "one"]),
  when: datetime().nullable().default(null),
  ident: z.uuid().nullable().default(null),
});

type Told = Pick<ValidationIssue, "type" | "loc"> & Partial<ValidationIssue>;

function issuesOf(action: z.ZodObject, value: unknown): ValidationIssue[] {
  const validator = createValidator(defineContract({ name: "a", action, observation: z.object({}) }));
  const checked = validator.action(value);
  return checked.ok ? [] : checked.issues;
}

function withoutText(issues: ValidationIssue[]): Told[] {
  return issues.map(({ msg, ctx, ...issue }) => {
    expect(msg).toMatch(/\S/);
    const { error: _text, ...limits } = ctx ?? {};
    return Object.keys(limits).length > 0 ? { ...issue, ctx: limits } : issue;
  });
}

describe("an invalid value of every kind of field", () => {
  test.each<[string, object, Told[]]>([
    ["an empty string", { text: "" }, [{ type: "string_too_short", loc: ["text"], input: "", ctx: { min_length: 1 } }]],
    [
      "a string that is too long",
      { text: "x".repeat(21) },
      [{ type: "string_too_long", loc: ["text"], input: "x".repeat(21), ctx: { max_length: 20 } }],
    ],
    ["a number for a string", { text: 5 }, [{ type: "string_type", loc: ["text"], input: 5 }]],
    ["a missing field", {}, [{ type: "missing", loc: ["text"], input: {} }]],
    [
      "a number at an exclusive limit",
      { text: "a", ratio: 1 },
      [{ type: "less_than", loc: ["ratio"], input: 1, ctx: { lt: 1 } }],
    ],
    [
      "a number below its limit",
      { text: "a", whole: -1 },
      [{ type: "greater_than_equal", loc: ["whole"], input: -1, ctx: { ge: 0 } }],
    ],
    [
      "a numeric string above the limit, with the original input",
      { text: "a", whole: "11" },
      [{ type: "less_than_equal", loc: ["whole"], input: "11", ctx: { le: 10 } }],
    ],
    [
      "an unknown member of an enum",
      { text: "a", color: "green" },
      [{ type: "enum", loc: ["color"], input: "green", ctx: { expected: "'red' or 'blue'" } }],
    ],
    [
      "a value that is not one of the literals",
      { text: "a", pick: "c" },
      [{ type: "literal_error", loc: ["pick"], input: "c", ctx: { expected: "'a' or 'b'" } }],
    ],
    [
      "too many items",
      { text: "a", items: [1, 2, 3, 4] },
      [
        {
          type: "too_long",
          loc: ["items"],
          input: [1, 2, 3, 4],
          ctx: { field_type: "List", max_length: 3, actual_length: 4 },
        },
      ],
    ],
    ["an empty nested object", { text: "a", point: {} }, [{ type: "missing", loc: ["point", "x"], input: {} }]],
    [
      "a string for an object",
      { text: "a", maybe_point: "p" },
      [{ type: "model_type", loc: ["maybe_point"], input: "p", ctx: { class_name: "Point" } }],
    ],
    ["an invalid item", { text: "a", items: [1, "x"] }, [{ type: "int_parsing", loc: ["items", 1], input: "x" }]],
    ["a string for a list", { text: "a", items: "x" }, [{ type: "list_type", loc: ["items"], input: "x" }]],
    [
      "an invalid object in a list",
      { text: "a", points: [{ x: 1 }, { y: 1 }] },
      [{ type: "missing", loc: ["points", 1, "x"], input: { y: 1 } }],
    ],
    [
      "an invalid member of a map",
      { text: "a", table: { k: "x" } },
      [{ type: "float_parsing", loc: ["table", "k"], input: "x" }],
    ],
    ["a list for a map", { text: "a", table: [1] }, [{ type: "dict_type", loc: ["table"], input: [1] }]],
    [
      "an invalid date",
      { text: "a", when: "yesterday" },
      [{ type: "datetime_from_date_parsing", loc: ["when"], input: "yesterday" }],
    ],
    ["a list for a date", { text: "a", when: [1] }, [{ type: "datetime_type", loc: ["when"], input: [1] }]],
    ["an invalid UUID", { text: "a", ident: "x" }, [{ type: "uuid_parsing", loc: ["ident"], input: "x" }]],
    ["a number for a UUID", { text: "a", ident: 5 }, [{ type: "uuid_type", loc: ["ident"], input: 5 }]],
    ["a tuple that is too short", { text: "a", pair: [1] }, [{ type: "missing", loc: ["pair", 1], input: [1] }]],
    [
      "an empty tuple",
      { text: "a", pair: [] },
      [
        { type: "missing", loc: ["pair", 0], input: [] },
        { type: "missing", loc: ["pair", 1], input: [] },
      ],
    ],
    [
      "a tuple that is too long",
      { text: "a", pair: [1, "a", 3] },
      [
        {
          type: "too_long",
          loc: ["pair"],
          input: [1, "a", 3],
          ctx: { field_type: "Tuple", max_length: 2, actual_length: 3 },
        },
      ],
    ],
    ["a string for a tuple", { text: "a", pair: "x" }, [{ type: "tuple_type", loc: ["pair"], input: "x" }]],
    [
      "a value that no member of a union accepts",
      { text: "a", either: [1] },
      [
        { type: "int_type", loc: ["either", "int"], input: [1] },
        { type: "string_type", loc: ["either", "str"], input: [1] },
      ],
    ],
    [
      "a word that is not a boolean",
      { text: "a", flag: "maybe" },
      [{ type: "bool_parsing", loc: ["flag"], input: "maybe" }],
    ],
    ["a number that is not a boolean", { text: "a", flag: 2 }, [{ type: "bool_parsing", loc: ["flag"], input: 2 }]],
    ["null for a boolean", { text: "a", flag: null }, [{ type: "bool_type", loc: ["flag"], input: null }]],
    ["a fraction for an integer", { text: "a", maybe: 4.5 }, [{ type: "int_from_float", loc: ["maybe"], input: 4.5 }]],
    [
      "a string with a fraction for an integer",
      { text: "a", maybe: "4.5" },
      [{ type: "int_parsing", loc: ["maybe"], input: "4.5" }],
    ],
    ["null for an integer", { text: "a", whole: null }, [{ type: "int_type", loc: ["whole"], input: null }]],
    [
      "infinity for an integer",
      { text: "a", whole: Infinity },
      [{ type: "finite_number", loc: ["whole"], input: Infinity }],
    ],
    ["null for a number", { text: "a", ratio: null }, [{ type: "float_type", loc: ["ratio"], input: null }]],
    ["null as metadata", { text: "a", metadata: null }, [{ type: "dict_type", loc: ["metadata"], input: null }]],
    [
      "unknown fields, each with its own error",
      { text: "a", bogus: 1, other: {} },
      [
        { type: "extra_forbidden", loc: ["bogus"], input: 1 },
        { type: "extra_forbidden", loc: ["other"], input: {} },
      ],
    ],
    [
      "the HTTP body instead of the action",
      { action: { text: "a" } },
      [
        { type: "missing", loc: ["text"], input: { action: { text: "a" } } },
        { type: "extra_forbidden", loc: ["action"], input: { text: "a" } },
      ],
    ],
    [
      "several errors, in the order of the fields",
      { text: "", points: [{ x: 1 }, { y: "b" }], color: "green" },
      [
        { type: "string_too_short", loc: ["text"], input: "", ctx: { min_length: 1 } },
        { type: "enum", loc: ["color"], input: "green", ctx: { expected: "'red' or 'blue'" } },
        { type: "missing", loc: ["points", 1, "x"], input: { y: "b" } },
        { type: "float_parsing", loc: ["points", 1, "y"], input: "b" },
      ],
    ],
  ])("%s", (_what, value, issues) => {
    expect(withoutText(issuesOf(kinds, value))).toEqual(issues);
  });

  test("undeclared members of a nested object are allowed", () => {
    expect(issuesOf(kinds, { text: "a", point: { x: 1, z: 2 } })).toEqual([]);
  });

  test.each([null, [1], "x", 3])("%j instead of an action is reported at the root", (value) => {
    expect(issuesOf(kinds, value)).toMatchObject([{ type: "model_type", loc: [], input: value }]);
  });
});

describe("a field with a special schema", () => {
  const P = z.object({ x: z.int() }).meta({ id: "P" });
  const Q = z.strictObject({ y: z.int() }).meta({ id: "Q" });
  const tagged = z.discriminatedUnion("k", [
    z.object({ k: z.literal("a"), v: z.int() }),
    z.object({ k: z.literal("b") }),
  ]);
  test.each<[string, z.ZodType, unknown, Told[]]>([
    [
      "a union of objects names each class",
      z.union([P, Q]),
      { x: "q" },
      [
        { type: "int_parsing", loc: ["f", "P", "x"], input: "q" },
        { type: "missing", loc: ["f", "Q", "y"], input: { x: "q" } },
        { type: "extra_forbidden", loc: ["f", "Q", "x"], input: "q" },
      ],
    ],
    [
      "a nullable union of lists and maps",
      z.union([z.array(z.int()), z.record(z.string(), z.int()), z.null()]),
      ["a"],
      [
        { type: "int_parsing", loc: ["f", "list[int]", 0], input: "a" },
        { type: "dict_type", loc: ["f", "dict[str,int]"], input: ["a"] },
      ],
    ],
    [
      "a union with null is reported as its other member",
      z.union([z.int(), z.null()]),
      "x",
      [{ type: "int_parsing", loc: ["f"], input: "x" }],
    ],
    [
      "a union whose members have limits, also when only one limit is violated",
      z.union([z.int().min(3), z.string().min(3)]),
      1,
      [
        { type: "greater_than_equal", loc: ["f", "constrained-int"], input: 1, ctx: { ge: 3 } },
        { type: "string_type", loc: ["f", "constrained-str"], input: 1 },
      ],
    ],
    [
      "a union of constants",
      z.union([z.literal("a"), z.literal("b")]),
      "c",
      [
        { type: "literal_error", loc: ["f", "literal['a']"], input: "c", ctx: { expected: "'a'" } },
        { type: "literal_error", loc: ["f", "literal['b']"], input: "c", ctx: { expected: "'b'" } },
      ],
    ],
    [
      "a tagged union, with the tag in the path",
      tagged,
      { k: "a" },
      [{ type: "missing", loc: ["f", "a", "v"], input: { k: "a" } }],
    ],
    [
      "an unknown tag",
      tagged,
      { k: "c" },
      [
        {
          type: "union_tag_invalid",
          loc: ["f"],
          input: { k: "c" },
          ctx: { discriminator: "'k'", tag: "c", expected_tags: "'a', 'b'" },
        },
      ],
    ],
    [
      "a missing tag",
      tagged,
      {},
      [{ type: "union_tag_not_found", loc: ["f"], input: {}, ctx: { discriminator: "'k'" } }],
    ],
    ["a string for a tagged union", tagged, "x", [{ type: "model_attributes_type", loc: ["f"], input: "x" }]],
    ["a multiple", z.int().multipleOf(5), 3, [{ type: "multiple_of", loc: ["f"], input: 3, ctx: { multiple_of: 5 } }]],
    [
      "a pattern",
      z.string().regex(/^a/),
      "b",
      [{ type: "string_pattern_mismatch", loc: ["f"], input: "b", ctx: { pattern: "^a" } }],
    ],
    [
      "too few items",
      z.array(z.int()).min(2),
      [1],
      [{ type: "too_short", loc: ["f"], input: [1], ctx: { field_type: "List", min_length: 2, actual_length: 1 } }],
    ],
    [
      "a map with an enum as keys",
      z.partialRecord(z.enum(["a", "b"]), z.int()),
      { c: 1 },
      [{ type: "literal_error", loc: ["f", "c", "[key]"], input: "c" }],
    ],
    ["only null", z.null(), 1, [{ type: "none_required", loc: ["f"], input: 1 }]],
    [
      "an author's refinement",
      z.string().refine((text) => text === "ok"),
      "no",
      [{ type: "value_error", loc: ["f"], input: "no" }],
    ],
    ["a missing field of unknown type", z.unknown(), undefined, [{ type: "missing", loc: ["f"], input: {} }]],
    [
      "a field with a preprocessing function",
      z.preprocess((value) => value, z.int()),
      "x",
      [{ type: "int_parsing", loc: ["f"], input: "x" }],
    ],
  ])("%s", (_what, field, value, issues) => {
    const action = value === undefined ? {} : { f: value };
    expect(withoutText(issuesOf(z.object({ f: field }), action))).toEqual(issues);
  });
});

describe("an error is small and has a JSON form", () => {
  const one = z.object({ n: z.int() });
  test.each<[string, unknown]>([
    ["a string of a megabyte", "x".repeat(1_000_000)],
    ["a long list", Array.from({ length: 100_000 }, () => 0)],
    ["a large object", Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`k${i}`, i]))],
    ["a function", () => 1],
    ["a bigint", 1n],
    ["deep nesting", JSON.parse(`${"[".repeat(900)}${"]".repeat(900)}`)],
  ])("%s is not echoed", (_what, n) => {
    const [issue] = issuesOf(one, { n });
    expect(JSON.stringify(issue).length).toBeLessThan(1_000);
    expect(issue?.input).toEqual(expect.any(String));
  });

  test("an object that contains itself is only named", () => {
    const loop: Record<string, unknown> = {};
    loop["self"] = loop;
    expect(issuesOf(one, loop)).toMatchObject([{ type: "missing", loc: ["n"], input: "(large object)" }]);
  });

  test("a lone surrogate is never echoed, also not in a path", () => {
    const issues = issuesOf(one, { "\ud800": "\udfff", n: ["\ud800"] });
    expect(JSON.stringify(issues)).not.toMatch(/\\ud/);
    expect(issues).toHaveLength(2);
  });

  test("a thousand invalid items produce a hundred errors", () => {
    const items = Array.from({ length: 1_000 }, () => "x");
    expect(issuesOf(z.object({ items: z.array(z.int()) }), { items })).toHaveLength(MAX_ISSUES);
  });

  test("a recursive type has a finite name", () => {
    let value: unknown = () => 1;
    for (let i = 0; i < 30; i++) value = { a: value };
    for (const { loc } of issuesOf(z.object({ f: z.json() }), { f: value })) {
      expect(JSON.stringify(loc).length).toBeLessThan(1_000);
    }
    expect(issuesOf(z.object({ f: z.json() }), { f: value }).length).toBeGreaterThan(3);
  });

  test("nested unions limit the depth of the search", () => {
    const Nested: z.ZodType = z.lazy(() => z.union([z.object({ a: Nested }), z.object({ a: Nested, b: z.int() })]));
    let value: object = { a: 1 };
    for (let i = 0; i < 12; i++) value = { a: value };
    expect(issuesOf(z.object({ f: Nested }), { f: value }).length).toBeGreaterThan(0);
  });
});
