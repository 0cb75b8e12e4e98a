import { toStandardJsonSchema } from "@valibot/to-json-schema";
import { type } from "arktype";
import * as v from "valibot";
import { describe, expect, expectTypeOf, test } from "vitest";
import * as z from "zod";
import { connect, type RemoteError, ToolCallError } from "../client/index.js";
import { type Action, defineContract, defineEnvironment, defineTools, type ObservationInput } from "../index.js";
import { serve } from "../serve.js";
import { createActionCheck } from "../validation/parse-input.js";

const amounts = { amount: z.int().min(1).max(9), note: z.string().default("none") };
const contracts = {
  zod: defineContract({
    name: "sum_env",
    action: z.object(amounts),
    observation: z.object({ sum: z.number(), note: z.string() }),
    state: z.object({ total: z.number() }),
    reset: z.object({ start: z.number().default(0) }),
    tools: defineTools({
      double: { description: "Doubles.", input: z.object({ n: z.number() }), output: z.number() },
      both: { description: "Both.", output: z.object({ sum: z.number() }) },
    }),
  }),
  valibot: defineContract({
    name: "sum_env",
    action: toStandardJsonSchema(
      v.object({
        amount: v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(9)),
        note: v.optional(v.string(), "none"),
      }),
    ),
    observation: toStandardJsonSchema(v.object({ sum: v.number(), note: v.string() })),
    state: toStandardJsonSchema(v.object({ total: v.number() })),
    reset: toStandardJsonSchema(v.object({ start: v.optional(v.number(), 0) })),
    tools: defineTools({
      double: {
        description: "Doubles.",
        input: toStandardJsonSchema(v.object({ n: v.number() })),
        output: toStandardJsonSchema(v.number()),
      },
      both: { description: "Both.", output: toStandardJsonSchema(v.object({ sum: v.number() })) },
    }),
  }),
  arktype: defineContract({
    name: "sum_env",
    action: type({ amount: "1 <= number.integer <= 9", note: "string = 'none'" }),
    observation: type({ sum: "number", note: "string" }),
    state: type({ total: "number" }),
    reset: type({ start: "number = 0" }),
    tools: defineTools({
      double: { description: "Doubles.", input: type({ n: "number" }), output: type("number") },
      both: { description: "Both.", output: type({ sum: "number" }) },
    }),
  }),
};

describe.each(["zod", "valibot", "arktype"] as const)("a contract of %s", (library) => {
  // The three have the same types, which the next test proves.
  const contract = contracts[library] as (typeof contracts)["zod"];
  const environment = defineEnvironment(contract, () => {
    let sum = 0;
    return {
      reset: ({ start }) => {
        sum = start;
        return { observation: { sum, note: "begun" } };
      },
      step: ({ amount, note }) => {
        sum += amount;
        const observation = note === "wrong" ? { sum: "one" as never, note } : { sum, note };
        return { observation, reward: amount, done: sum >= 10 };
      },
      state: () => ({ total: sum }),
      tools: { double: ({ n }) => 2 * n, both: () => ({ sum }) },
    };
  });

  test("is served: defaults, errors, tools and the check of what the environment returns", async () => {
    await using server = await serve(environment, { port: 0, logLevel: "silent" });
    await using env = await connect(server.url, contract);
    expect((await env.reset({ start: 3 })).observation).toEqual({ sum: 3, note: "begun" });
    expect(await env.step({ amount: 2 })).toMatchObject({ observation: { sum: 5, note: "none" }, reward: 2 });
    expect(await env.state()).toMatchObject({ total: 5, step_count: 1 });
    expect(await env.tools.double({ n: 4 })).toMatchObject({ data: 8 });
    expect(await env.tools.both()).toMatchObject({ data: { sum: 5 } });
    await expect(env.tools.double({ n: "x" as never })).rejects.toBeInstanceOf(ToolCallError);
    await expect(env.step({ amount: 20 })).rejects.toMatchObject({ wireCode: "VALIDATION_ERROR" });
    await expect(env.step({ amount: 1, note: "wrong" })).rejects.toThrow(/observation\.sum: .*found "one"/);
    await using plain = await connect(server.url, { check: false });
    await plain.reset();
    const failed = await plain.step({ amount: 20, metadata: {} }).catch((error: unknown) => error);
    expect((failed as RemoteError).details["errors"]).toMatchObject([{ loc: ["amount"], input: 20 }]);
    const missing = await plain.step({}).catch((error: unknown) => error);
    expect((missing as RemoteError).details["errors"]).toMatchObject([{ loc: ["amount"], type: "missing" }]);
    const unknown = await plain.step({ amount: 1, more: 1 }).catch((error: unknown) => error);
    expect((unknown as RemoteError).details["errors"]).toMatchObject([{ loc: ["more"], type: "extra_forbidden" }]);
  });

  test("publishes its fields", () => {
    const { action, reset_observation: observation, tools } = contract.schemas();
    expect(action).toMatchObject({
      title: "SumAction",
      properties: { amount: { type: "integer", minimum: 1, maximum: 9 }, note: { type: "string" } },
      required: ["amount"],
      additionalProperties: false,
    });
    expect(observation).toMatchObject({ properties: { sum: { type: "number" } }, additionalProperties: false });
    expect(observation["required"]).toHaveLength(2);
    expect(tools).toMatchObject([
      { name: "double", input_schema: { properties: { n: { type: "number" } }, required: ["n"] } },
      { name: "both", output_schema: { properties: { sum: { type: "number" } } } },
    ]);
    expect(tools?.[0]?.output_schema).toMatchObject({ properties: { result: { type: "number" } } });
  });
});

test("a zod object is used as it is, not wrapped", () => {
  const action = z.object(amounts);
  const input = z.object({ n: z.number() });
  const tools = { double: { description: "Doubles.", input } };
  const contract = defineContract({ name: "sum_env", action, observation: z.object({}), tools });
  expect(contract.action).toBe(action);
  expect(contract.tools.double.input).toBe(input);
});

test("the types are those of the schemas", () => {
  expectTypeOf<Action<(typeof contracts)["valibot"]>>().toEqualTypeOf<{ amount: number; note: string }>();
  expectTypeOf<Action<(typeof contracts)["arktype"]>>().toEqualTypeOf<{ amount: number; note: string }>();
  expectTypeOf<ObservationInput<(typeof contracts)["valibot"]>>().toEqualTypeOf<{ sum: number; note: string }>();
  const move = type({ x: "number", "y?": "number" });
  const moves = defineContract({ name: "move_env", action: move, observation: move });
  expectTypeOf<Action<typeof moves>>().toEqualTypeOf<{ x: number; y?: number | undefined }>();
});

test("what a schema of another library cannot be", () => {
  const observation = z.object({});
  const define = (action: unknown) => () =>
    defineContract({ name: "a", action: action as typeof observation, observation });
  expect(define(v.object({ a: v.number() }))).toThrow(/schema of valibot without .* @valibot\/to-json-schema/);
  expect(define(type("string"))).toThrow(
    /must be an object schema or a union.*Wrap another shape.*Got the JSON Schema/,
  );
  expect(define(toStandardJsonSchema(v.object({ at: v.date() })))).toThrow(
    /^The action of a contract has no JSON Schema: /,
  );
  expect(define(type({ metadata: "string" }))).toThrow('must not declare "metadata"');
  const list = type.module({ node: { "next?": "node" } }).node;
  expect(define(type({ list }))).toThrow(/use zod for recursive types/);
  const late = v.objectAsync({
    a: v.pipeAsync(
      v.number(),
      v.checkAsync(async () => true),
    ),
  });
  const standard = {
    ...late["~standard"],
    jsonSchema: toStandardJsonSchema(v.object({ a: v.number() }))["~standard"].jsonSchema,
  };
  const contract = define({ "~standard": standard })();
  expect(() => createActionCheck(contract.action)({ a: 1 })).toThrow("validates asynchronously");
});
