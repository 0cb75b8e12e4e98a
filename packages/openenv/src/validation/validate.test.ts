import { toStandardJsonSchema } from "@valibot/to-json-schema";
import { type } from "arktype";
import fc from "fast-check";
import * as v from "valibot";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { type ContractOptions, defineContract } from "../contract/contract.js";
import { bytes, datetime } from "../contract/fields.js";
import { MAX_ISSUES } from "./errors/issues.js";
import { InvalidOutputError } from "./json-safe.js";
import { createOutputCheck } from "./output.js";
import { createValidator } from "./validate.js";

const none = z.object({});
type Parts = Partial<ContractOptions<z.ZodObject, z.ZodObject, z.ZodObject, z.ZodObject>>;

function validator(parts: Parts) {
  return createValidator(defineContract({ name: "a", action: none, observation: none, ...parts }));
}

function observationCheck(schema: z.ZodObject) {
  return createOutputCheck(schema, { name: "observation", unchecked: false });
}

describe("an action", () => {
  const { action } = validator({ action: z.object({ amount: z.int(), note: z.string().default("none") }) });

  test("gets its defaults, and its metadata is separated", () => {
    expect(action({ amount: 1 })).toEqual({ ok: true, value: { action: { amount: 1, note: "none" }, metadata: {} } });
    expect(action({ amount: 1, metadata: { m: [1] } })).toEqual({
      ok: true,
      value: { action: { amount: 1, note: "none" }, metadata: { m: [1] } },
    });
    expect(action({ amount: "1", metadata: {} })).toMatchObject({ ok: true, value: { action: { amount: 1 } } });
  });

  test("without metadata gets a shared frozen object", () => {
    const checked = action({ amount: 1, metadata: undefined });
    expect(checked).toEqual({ ok: true, value: { action: { amount: 1, note: "none" }, metadata: {} } });
    expect(checked.ok && Object.isFrozen(checked.value.metadata)).toBe(true);
    expect(checked.ok && "metadata" in checked.value.action).toBe(false);
  });

  test("is not changed by coercion", () => {
    const given = { amount: "4" };
    expect(action(given)).toMatchObject({ ok: true, value: { action: { amount: 4 } } });
    expect(given).toEqual({ amount: "4" });
  });

  test("may contain NaN for a number without limits, as in Pydantic, but not for a number with limits", () => {
    const { action } = validator({ action: z.object({ free: z.number(), more: z.number().max(1).optional() }) });
    expect(action({ free: Number.NaN })).toEqual({ ok: true, value: { action: { free: Number.NaN }, metadata: {} } });
    expect(action({ free: -Infinity })).toMatchObject({ ok: true, value: { action: { free: -Infinity } } });
    expect(action({ free: 1, more: Number.NaN })).toMatchObject({
      ok: false,
      issues: [{ type: "finite_number", loc: ["more"] }],
    });
  });

  test("keeps the author's refinements", () => {
    const { action } = validator({ action: z.object({ a: z.int(), b: z.int() }).refine(({ a, b }) => a < b, "a < b") });
    expect(action({ a: 1, b: 2 }).ok).toBe(true);
    expect(action({ a: "2", b: 1 })).toMatchObject({
      ok: false,
      issues: [{ type: "value_error", loc: [], msg: "a < b" }],
    });
  });

  test("with a loose schema still rejects unknown fields, as in its JSON Schema", () => {
    expect(validator({ action: z.looseObject({}) }).action({ x: 1 })).toMatchObject({ ok: false });
  });

  test("with very many values is not coerced and gets only its first error", () => {
    const { action } = validator({
      action: z.object({
        list: z.array(z.int()).optional(),
        either: z.array(z.union([z.int(), z.boolean()])).optional(),
      }),
    });
    const many = (item: unknown) => Array.from({ length: 20_000 }, () => item);
    expect(action({ list: ["4", "5"] }).ok).toBe(true);
    expect(action({ list: many(4) }).ok).toBe(true);
    expect(action({ list: many("4") })).toMatchObject({
      ok: false,
      issues: [{ type: "int_parsing", loc: ["list", 0] }],
    });
    expect(action({ either: many("x") })).toMatchObject({
      ok: false,
      issues: [{ type: "value_error", loc: ["either", 0] }],
    });
    const { issues } = action({ list: many("4") }) as { issues: unknown[] };
    expect(issues).toHaveLength(1);
  });

  test("with a hundred thousand unknown fields gets errors for some of them", () => {
    const fields = Object.fromEntries(Array.from({ length: 100_000 }, (_, i) => [`k${i}`, i]));
    const checked = action({ amount: 1, ...fields });
    expect(!checked.ok && checked.issues[0]).toMatchObject({ type: "extra_forbidden", loc: ["k0"] });
    expect(!checked.ok && checked.issues.length).toBe(MAX_ISSUES);
  });

  test("of any shape gets a result, never an exception", () => {
    const { action } = validator({
      action: z.object({
        n: z.union([z.int(), z.object({ k: z.array(z.boolean()) })]).optional(),
        t: z.tuple([z.number()]).optional(),
        r: z.record(z.string(), z.int()).nullable(),
        d: datetime().optional(),
        b: bytes().optional(),
      }),
    });
    const value = fc.record({
      n: fc.anything(),
      t: fc.anything(),
      r: fc.anything(),
      d: fc.anything(),
      b: fc.anything(),
    });
    fc.assert(
      fc.property(fc.oneof(value, fc.anything(), fc.object()), (given) => {
        const checked = action(given);
        if (checked.ok) return;
        expect(checked.issues.length).toBeGreaterThan(0);
        expect(JSON.stringify(checked.issues).length).toBeLessThan(1_000_000);
      }),
      { numRuns: 2_000 },
    );
  });
});

describe("a reset", () => {
  const { reset } = validator({ reset: z.object({ level: z.int().default(1), word: z.string().optional() }) });

  test("separates the protocol's options from the contract's own", () => {
    expect(reset({ seed: 7, episode_id: "e", split: "train", index: 2, level: 3, word: "w" })).toEqual({
      ok: true,
      value: { seed: 7, episodeId: "e", split: "train", index: 2, fields: { level: 3, word: "w" }, dropped: [] },
    });
  });

  test("without options, or with null for them, has undefined options", () => {
    const value = {
      seed: undefined,
      episodeId: undefined,
      split: undefined,
      index: undefined,
      fields: { level: 1 },
      dropped: [],
    };
    expect(reset({})).toEqual({ ok: true, value });
    expect(reset({ seed: null, episode_id: null, split: null, index: null })).toEqual({ ok: true, value });
  });

  test("accepts a seed that is a string of digits", () => {
    expect(reset({ seed: "7", level: "2" })).toMatchObject({ ok: true, value: { seed: 7, fields: { level: 2 } } });
  });

  test("names undeclared keys, also those with special names", () => {
    const data = JSON.parse('{"a":1,"session_id":2,"self":3,"constructor":4,"__proto__":5,"level":2}');
    expect(reset(data)).toMatchObject({
      ok: true,
      value: { fields: { level: 2 }, dropped: ["a", "session_id", "self", "constructor", "__proto__"] },
    });
  });

  test.each([
    ["zod", z.strictObject({ level: z.number().optional() })],
    ["valibot", toStandardJsonSchema(v.strictObject({ level: v.optional(v.number()) }))],
    ["arktype", type({ "level?": "number", "+": "reject" })],
  ] as const)("of a strict contract of %s is rejected with the nearest name", (_library, own) => {
    const { reset: strict } = createValidator(
      defineContract({ name: "a", action: none, observation: none, reset: own as z.ZodObject }),
    );
    expect(strict({ seed: 3, episode_id: "e", split: "train", index: 1, level: 2 })).toMatchObject({ ok: true });
    expect(strict({ sed: 3, LEVEL: 1, other: 1 })).toMatchObject({
      ok: false,
      issues: [
        { type: "extra_forbidden", loc: ["sed"], msg: 'Unknown field. Did you mean "seed"?', input: 3 },
        { type: "extra_forbidden", loc: ["LEVEL"], msg: 'Unknown field. Did you mean "level"?' },
        { type: "extra_forbidden", loc: ["other"], msg: "Unknown field" },
      ],
    });
  });

  test.each([
    ["zod", z.object({})],
    ["valibot", toStandardJsonSchema(v.object({}))],
    ["arktype", type({ "level?": "number" })],
  ])("of a contract of %s that is not strict drops them", (_library, own) => {
    const { reset: open } = createValidator(
      defineContract({ name: "a", action: none, observation: none, reset: own as z.ZodObject }),
    );
    expect(open({ a: 1 })).toMatchObject({ ok: true, value: { dropped: ["a"] } });
  });

  test("of a loose contract keeps them", () => {
    expect(validator({ reset: z.looseObject({}) }).reset({ a: 1, seed: 2 })).toMatchObject({
      ok: true,
      value: { seed: 2, fields: { a: 1 }, dropped: [] },
    });
  });

  test.each([
    [{ seed: -1 }, { type: "greater_than_equal", loc: ["seed"], input: -1, ctx: { ge: 0 } }],
    [{ seed: "abc" }, { type: "int_parsing", loc: ["seed"], input: "abc" }],
    [{ seed: 1.5 }, { type: "int_from_float", loc: ["seed"] }],
    [{ episode_id: "x".repeat(256) }, { type: "string_too_long", loc: ["episode_id"], ctx: { max_length: 255 } }],
    [{ episode_id: 5 }, { type: "string_type", loc: ["episode_id"] }],
    [{ index: 0.5 }, { type: "int_from_float", loc: ["index"] }],
    [{ level: "x" }, { type: "int_parsing", loc: ["level"] }],
  ])("with %j is rejected", (data, issue) => {
    expect(reset(data)).toMatchObject({ ok: false, issues: [issue] });
  });
});

describe("an observation", () => {
  const observation = observationCheck(
    z.object({
      count: z.int(),
      ratio: z.number().min(3).default(5),
      any: z.unknown().optional(),
      frame: bytes().optional(),
      when: datetime().optional(),
    }),
  );

  test("gets its defaults without changing the environment's object", () => {
    const given = Object.freeze({ count: 1 });
    expect(observation(given)).toEqual({ value: { count: 1, ratio: 5 }, nonFinite: 0 });
  });

  test("has null where a number is NaN or infinite, also with limits and in values of unknown type", () => {
    const given = { count: Number.NaN, ratio: Infinity, any: { x: [Number.NaN, 1] } };
    expect(observation(given)).toEqual({ value: { count: null, ratio: null, any: { x: [null, 1] } }, nonFinite: 3 });
    expect(given.count).toBeNaN();
  });

  test("has strings in place of bytes and dates", () => {
    const { value } = observation({ count: 1, frame: new Uint8Array([1]), when: new Date(0) });
    expect(JSON.parse(JSON.stringify(value))).toEqual({
      count: 1,
      ratio: 5,
      frame: "AQ==",
      when: "1970-01-01T00:00:00.000Z",
    });
  });

  test.each<[string, unknown, RegExp]>([
    ["a wrong type, without coercion", { count: "1" }, /observation\.count: .*"1"/],
    ["a missing field", {}, /observation\.count: Field required/],
    ["an unknown field", { count: 1, extra: 1 }, /observation\.extra: Unknown field/],
    [
      "a function in a value of unknown type",
      { count: 1, any: { f: [() => 1] } },
      /observation\.any\.f\[0\]: a function/,
    ],
    ["undefined", undefined, /observation: Must be an object/],
    ["a list", [], /observation: Must be an object/],
    ["several errors", { count: "1", ratio: 1, x: 2 }, /count.*; observation\.ratio.*; observation\.x/],
    ["NaN and an error", { count: Number.NaN, ratio: "x" }, /observation\.ratio/],
  ])("with %s is an error that names the path", (_what, given, message) => {
    expect(() => observation(given)).toThrow(InvalidOutputError);
    expect(() => observation(given)).toThrow(message);
  });

  test("with NaN in a list, a map, a union and a nested object has null in its place", () => {
    const observation = observationCheck(
      z.object({
        list: z.array(z.number()),
        map: z.record(z.string(), z.int()),
        either: z.union([z.string(), z.object({ n: z.number(), d: z.int().default(1) })]),
      }),
    );
    const given = { list: [1, Number.NaN], map: { a: Infinity }, either: { n: Number.NaN, junk: 1 } };
    expect(observation(given)).toEqual({
      value: { list: [1, null], map: { a: null }, either: { n: null, d: 1 } },
      nonFinite: 3,
    });
  });

  test("that contains itself is an error, also with a recursive schema", () => {
    const Tree = z.object({
      get kid() {
        return Tree.optional();
      },
    });
    const observation = observationCheck(z.object({ tree: Tree }));
    const loop: { kid?: object } = {};
    loop.kid = loop;
    expect(() => observation({ tree: loop })).toThrow(
      "observation.tree.kid: contains itself: it is the same object as observation.tree",
    );
    let deep: { kid?: object } = {};
    for (let i = 0; i < 300; i++) deep = { kid: deep };
    expect(() => observation({ tree: deep })).toThrow(InvalidOutputError);
    expect(observation({ tree: { kid: {} } }).value).toEqual({ tree: { kid: {} } });
  });

  test("may be an instance of a class with getters", () => {
    class Seen {
      readonly given: unknown;
      constructor(given: unknown) {
        this.given = given;
      }
      get count() {
        return this.given;
      }
    }
    const observation = observationCheck(z.object({ seen: z.object({ count: z.int() }) }));
    expect(observation({ seen: new Seen(1) }).value).toEqual({ seen: { count: 1 } });
    expect(() => observation({ seen: new Seen("1") })).toThrow(/observation\.seen\.count: Must be an integer/);
  });

  test("with undefined inside a list is an error, even if the schema allows it", () => {
    const observation = observationCheck(z.object({ list: z.array(z.int().optional()) }));
    expect(() => observation({ list: [1, undefined] })).toThrow(/observation\.list\[1\]: undefined/);
  });
});

describe("a state", () => {
  const { state } = validator({ state: z.object({ total: z.int() }) });

  test("keeps undeclared members as plain JSON", () => {
    expect(state({ total: 1, extra: [Number.NaN] })).toEqual({ value: { total: 1, extra: [null] }, nonFinite: 1 });
    expect(() => state({ total: 1, extra: new Map() })).toThrow(/^state\.extra: Map/);
  });

  test("is checked against its contract", () => {
    expect(() => state({ total: "1" })).toThrow(/state\.total/);
  });
});

describe("the result of reset and step", () => {
  const { transition } = validator({ observation: z.object({ count: z.int().optional() }) });
  const observation = { count: 1 };

  test("defaults to reward null, done false and no metadata", () => {
    expect(transition({ observation })).toEqual({ observation, reward: null, done: false, metadata: {}, nonFinite: 0 });
  });

  test("keeps rewards of every kind unchanged", () => {
    for (const reward of [2, 2.5, true, false, null]) expect(transition({ observation, reward }).reward).toBe(reward);
  });

  test("counts NaN in reward, observation and metadata together", () => {
    const given = { observation: { count: Number.NaN }, reward: -Infinity, metadata: { m: Number.NaN } };
    expect(transition(given)).toEqual({
      observation: { count: null },
      reward: null,
      done: false,
      metadata: { m: null },
      nonFinite: 3,
    });
  });

  test("is done when it is truncated", () => {
    expect(transition({ observation, truncated: true }).done).toBe(true);
    expect(transition({ observation, done: true }).done).toBe(true);
  });

  test.each<[string, unknown, RegExp]>([
    ["with a misspelled member", { observation: {}, rewrd: 1 }, /"rewrd" is not a known member/],
    ["undefined", undefined, /\{ observation, .*not undefined/],
    ["a string", "won", /not a string/],
    ["a list", [], /not a list/],
    ["the bare observation", { count: 1 }, /observation is missing/],
    ["with a string as reward", { observation, reward: "1" }, /^reward: .*not a string/],
    ["with a number as done", { observation, done: 1 }, /^done: .*not a number/],
    ["with a string as truncated", { observation, truncated: "no" }, /^truncated: /],
    ["with a list as metadata", { observation, metadata: [] }, /^metadata: must be an object, not a list/],
    ["with a function in metadata", { observation, metadata: { f: () => 1 } }, /^metadata\.f: a function/],
  ])("is rejected: %s", (_what, given, message) => {
    expect(() => transition(given)).toThrow(InvalidOutputError);
    expect(() => transition(given)).toThrow(message);
  });
});
