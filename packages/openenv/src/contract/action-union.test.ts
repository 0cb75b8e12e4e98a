import { toStandardJsonSchema } from "@valibot/to-json-schema";
import { type } from "arktype";
import * as v from "valibot";
import { describe, expect, expectTypeOf, test } from "vitest";
import * as z from "zod";
import { connect, type RemoteError } from "../client/index.js";
import { type Action, type ActionInput, defineContract, defineEnvironment } from "../index.js";
import { serve } from "../serve.js";
import { createValidator } from "../validation/validate.js";

const observation = z.object({ did: z.record(z.string(), z.unknown()) });
const tagged = {
  zod: defineContract({
    name: "sql_env",
    action: z.discriminatedUnion("kind", [
      z.object({ kind: z.literal("run_query"), sql: z.string(), limit: z.number().default(10) }).describe("Runs SQL."),
      z.object({ kind: z.literal("answer"), value: z.string().optional() }),
    ]),
    observation,
  }),
  valibot: defineContract({
    name: "sql_env",
    action: toStandardJsonSchema(
      v.variant("kind", [
        v.pipe(
          v.object({ kind: v.literal("run_query"), sql: v.string(), limit: v.optional(v.number(), 10) }),
          v.description("Runs SQL."),
        ),
        v.object({ kind: v.literal("answer"), value: v.optional(v.string()) }),
      ]),
    ),
    observation,
  }),
  arktype: defineContract({
    name: "sql_env",
    action: type({ kind: "'run_query'", sql: "string", limit: "number = 10" })
      .describe("Runs SQL.")
      .or({ kind: "'answer'", "value?": "string" }),
    observation,
  }),
};
const plain = {
  zod: defineContract({
    name: "plain_env",
    action: z.union([
      z.object({ text: z.string() }),
      z.object({ path: z.array(z.number()), speed: z.number().optional() }),
    ]),
    observation,
  }),
  valibot: defineContract({
    name: "plain_env",
    action: toStandardJsonSchema(
      v.union([v.object({ text: v.string() }), v.object({ path: v.array(v.number()), speed: v.optional(v.number()) })]),
    ),
    observation,
  }),
  arktype: defineContract({
    name: "plain_env",
    action: type({ text: "string" }).or({ path: "number[]", "speed?": "number" }),
    observation,
  }),
};
const LIBRARIES = ["zod", "valibot", "arktype"] as const;

async function errorsOf(step: Promise<unknown>): Promise<unknown> {
  const error = await step.then(
    () => undefined,
    (error: unknown) => error,
  );
  return (error as RemoteError).details["errors"];
}

describe.each(LIBRARIES)("a discriminated union of %s as action", (library) => {
  const contract = tagged[library] as (typeof tagged)["zod"];
  const environment = defineEnvironment(contract, () => ({
    reset: () => ({ observation: { did: {} } }),
    step: (action) => ({
      observation: { did: action },
      reward: action.kind === "run_query" ? action.limit : 0,
      done: action.kind === "answer",
    }),
  }));

  test("is published as the Python package publishes one", () => {
    const { action } = contract.schemas();
    expect(Object.keys(action)).toEqual(["$defs", "discriminator", "oneOf", "title"]);
    expect(action).toMatchObject({
      discriminator: {
        mapping: { run_query: "#/$defs/RunQuery", answer: "#/$defs/Answer" },
        propertyName: "kind",
      },
      title: "SqlAction",
      $defs: {
        RunQuery: {
          additionalProperties: false,
          description: "Runs SQL.",
          properties: {
            metadata: { type: "object" },
            kind: { const: "run_query", title: "Kind" },
            sql: { type: "string", title: "Sql" },
            limit: { type: "number" },
          },
          required: ["kind", "sql"],
          title: "RunQuery",
          type: "object",
        },
        Answer: { properties: { kind: { const: "answer" }, value: { type: "string" } }, required: ["kind"] },
      },
    });
    // ArkType sorts the members of a union.
    expect(new Set(action["oneOf"] as unknown[])).toEqual(
      new Set([{ $ref: "#/$defs/RunQuery" }, { $ref: "#/$defs/Answer" }]),
    );
  });

  test("is served: typed steps, defaults, metadata, and errors with the tag in their path", async () => {
    await using server = await serve(environment, { port: 0, logLevel: "silent" });
    await using env = await connect(server.url, contract);
    await env.reset();
    expect(await env.step({ kind: "run_query", sql: "select 1" })).toMatchObject({
      observation: { did: { kind: "run_query", sql: "select 1", limit: 10 } },
      reward: 10,
    });
    await using generic = await connect(server.url, { check: false });
    await generic.reset();
    const step = (action: Record<string, unknown>) => errorsOf(generic.step({ metadata: {}, ...action }));
    expect(await step({})).toMatchObject([{ type: "union_tag_not_found", loc: [], ctx: { discriminator: "'kind'" } }]);
    const [invalid] = (await step({ kind: "nope" })) as [Record<string, unknown>];
    expect(invalid).toMatchObject({
      type: "union_tag_invalid",
      loc: [],
      ctx: { discriminator: "'kind'", tag: "nope" },
    });
    expect((invalid["ctx"] as { expected_tags: string }).expected_tags.split(", ").sort()).toEqual([
      "'answer'",
      "'run_query'",
    ]);
    expect(await step({ kind: "run_query" })).toMatchObject([{ type: "missing", loc: ["run_query", "sql"] }]);
    expect(await step({ kind: "run_query", sql: 5 })).toMatchObject([{ loc: ["run_query", "sql"], input: 5 }]);
    expect(await step({ kind: "answer", sql: "" })).toMatchObject([
      { type: "extra_forbidden", loc: ["answer", "sql"] },
    ]);
    expect((await generic.step({ kind: "answer", metadata: { a: 1 } })).done).toBe(true);
  });
});

describe.each(LIBRARIES)("a plain union of %s as action", (library) => {
  const contract = plain[library] as (typeof plain)["zod"];
  const environment = defineEnvironment(contract, () => ({
    reset: () => ({ observation: { did: {} } }),
    step: (action) => ({ observation: { did: action }, reward: "text" in action ? 1 : (action.speed ?? 1) }),
  }));

  test("is published as the Python package publishes one", () => {
    const { action } = contract.schemas();
    expect(Object.keys(action)).toEqual(["$defs", "anyOf", "title"]);
    expect(new Set(action["anyOf"] as unknown[])).toEqual(
      new Set([{ $ref: "#/$defs/Text" }, { $ref: "#/$defs/PathSpeed" }]),
    );
    expect(action["$defs"]).toMatchObject({ Text: { required: ["text"], additionalProperties: false } });
  });

  test("is served, with the errors of each variant under its name", async () => {
    await using server = await serve(environment, { port: 0, logLevel: "silent" });
    await using env = await connect(server.url, contract);
    await env.reset();
    expect((await env.step({ text: "a" })).observation).toEqual({ did: { text: "a" } });
    expect((await env.step({ path: [1, 2] })).reward).toBe(1);
    await using generic = await connect(server.url, { check: false });
    await generic.reset();
    const errors = (await errorsOf(generic.step({ metadata: {} }))) as { type: string; loc: string[] }[];
    expect(errors).toContainEqual(expect.objectContaining({ type: "missing", loc: ["Text", "text"] }));
    expect(errors).toContainEqual(expect.objectContaining({ type: "missing", loc: ["PathSpeed", "path"] }));
    expect(await errorsOf(generic.step({ text: 5 }))).not.toEqual([]);
  });
});

test("names of variants are their ids, titles, tags or fields, and no name of another definition", () => {
  const point = z.object({ x: z.int() }).meta({ id: "Point" });
  const contract = defineContract({
    name: "names_env",
    action: z.discriminatedUnion("kind", [
      z.object({ kind: z.literal("a"), to: point }).meta({ id: "MoveTo" }),
      z.object({ kind: z.literal("b"), to: point }).meta({ title: "Move by" }),
      z.object({ kind: z.literal("point"), to: point }),
      z.object({ kind: z.literal(["left", "right"]) }),
    ]),
    observation,
  });
  const { $defs, discriminator } = contract.schemas().action;
  expect(Object.keys($defs as object).sort()).toEqual(["Left", "MoveBy", "MoveTo", "Point", "Point2"]);
  expect($defs).toMatchObject({ MoveBy: { title: "Move by" }, Point: { properties: { x: { type: "integer" } } } });
  expect(($defs as { Point: object }).Point).not.toHaveProperty("properties.metadata");
  expect(discriminator).toMatchObject({
    mapping: { left: "#/$defs/Left", right: "#/$defs/Left", b: "#/$defs/MoveBy" },
  });
});

test("nested unions keep their shape, and refinements are applied", () => {
  const contract = defineContract({
    name: "nested_env",
    action: z
      .discriminatedUnion("kind", [
        z.discriminatedUnion("mode", [
          z.object({ kind: z.literal("draw"), mode: z.literal("line"), to: z.int() }),
          z.object({ kind: z.literal("draw"), mode: z.literal("dot") }),
        ]),
        z.object({ kind: z.literal("stop") }),
      ])
      .refine((action) => action.kind !== "draw" || action.mode !== "line" || action.to > 0, "must go right"),
    observation,
  });
  const { action } = contract.schemas();
  expect(action["oneOf"]).toMatchObject([
    {
      discriminator: { mapping: { line: "#/$defs/Line" } },
      oneOf: [{ $ref: "#/$defs/Line" }, { $ref: "#/$defs/Dot" }],
    },
    { $ref: "#/$defs/Stop" },
  ]);
  const check = (given: object) => createValidator(contract).action(given);
  expect(check({ kind: "draw", mode: "dot", metadata: {} })).toEqual({
    ok: true,
    value: { action: { kind: "draw", mode: "dot" }, metadata: {} },
  });
  expect(check({ kind: "draw", mode: "line", to: "x" })).toMatchObject({ issues: [{ loc: ["draw", "line", "to"] }] });
  expect(check({ kind: "draw", mode: "line", to: -1 })).toMatchObject({ issues: [{ msg: "must go right" }] });
});

test("a discriminator cannot have a default", () => {
  const variant = z.object({ kind: z.literal("a").default("a") });
  const action = z.discriminatedUnion("kind", [variant, z.object({ kind: z.literal("b") })]);
  expect(() => defineContract({ name: "a", action, observation })).toThrow(
    'The discriminator "kind" of an action must not be optional or have a default: every action names its variant.',
  );
});

test.each(["metadata"])("no variant may declare %s", (key) => {
  const action = z.union([z.object({ a: z.int() }), z.object({ [key]: z.int() })]);
  expect(() => defineContract({ name: "a", action, observation })).toThrow(`must not declare "${key}"`);
});

test("the types are those of the schemas of every library", () => {
  type Tagged = { kind: "run_query"; sql: string; limit: number } | { kind: "answer"; value?: string | undefined };
  expectTypeOf<Action<(typeof tagged)["zod"]>>().toEqualTypeOf<Tagged>();
  expectTypeOf<Action<(typeof tagged)["valibot"]>["kind"]>().toEqualTypeOf<Tagged["kind"]>();
  expectTypeOf<Extract<Action<(typeof tagged)["arktype"]>, { kind: "run_query" }>["limit"]>().toEqualTypeOf<number>();
  expectTypeOf<{ kind: "run_query"; sql: string }>().toExtend<ActionInput<(typeof tagged)["valibot"]>>();
  expectTypeOf<{ kind: "run_query" }>().not.toExtend<ActionInput<(typeof tagged)["arktype"]>>();
});
