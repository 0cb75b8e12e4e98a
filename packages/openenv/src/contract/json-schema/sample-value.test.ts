import { expect, test } from "vitest";
import * as z from "zod";
import { rng } from "../../util/rng.js";
import { defineContract } from "../contract.js";
import { bytes, datetime } from "../fields.js";
import { sampleValue } from "./sample-value.js";

const node = z.object({
  get next() {
    return node.nullable();
  },
});
const action = z.object({
  any: z.int(),
  below: z.number().max(-2),
  between: z.number().gt(0).lt(1),
  above: z.int().gt(4).lt(6),
  even: z.int().multipleOf(4).min(6),
  short: z.string().max(2),
  long: z.string().min(7),
  side: z.enum(["left", "right"]),
  kind: z.literal("walk"),
  pair: z.tuple([z.int(), z.boolean()]),
  list: z.array(z.int().min(3)).min(2),
  none: z.array(z.int()).max(0),
  either: z.union([z.object({ a: z.int() }), z.string()]),
  content: bytes(),
  at: datetime(),
  node,
  shown: z.string().meta({ examples: ["[crane]"] }),
  left_out: z.string().optional(),
  steps: z
    .array(
      z.discriminatedUnion("kind", [
        z.object({ kind: z.literal("go"), by: z.int() }),
        z.object({ kind: z.literal("stop") }),
      ]),
    )
    .min(1),
  tree: z.union([z.object({ leaf: z.boolean() }), z.string()]).nullable(),
  some: z
    .array(z.enum(["s", "m", "l"]))
    .min(2)
    .meta({ uniqueItems: true }),
  mail: z.email(),
  day: z.iso.date(),
  address: z.url(),
  capitals: z.string().regex(/^[A-Z]{3}$/),
  guess: z.string().regex(/^\[[a-z]{5}\]$/),
  version: z.string().regex(/^v?\d+(?:\.\d+){2}(?:-(?:alpha|beta))?$/),
  move: z.string().regex(/^(?:O-O(?:-O)?|[KQRBN]?[a-h][1-8])$/),
  longer: z
    .string()
    .regex(/^[^\s,]+$/)
    .min(6),
});
const schema = defineContract({ name: "all_env", action, observation: z.object({}) }).schemas().action;

test.each([undefined, 1, 2, 3])("a sample fits its schema (seed %s)", (seed) => {
  const value = sampleValue(schema, seed === undefined ? undefined : rng(seed));
  expect(action.safeParse(value).error).toBeUndefined();
  expect(value).not.toHaveProperty("left_out");
});

test("the same seed gives the same sample, another seed a different one", () => {
  expect(sampleValue(schema, rng(1))).toEqual(sampleValue(schema, rng(1)));
  expect(sampleValue(schema, rng(1))).not.toEqual(sampleValue(schema, rng(2)));
  expect(sampleValue(schema)).toMatchObject({
    any: 1,
    below: -2,
    short: "he",
    long: "hellohe",
    side: "left",
    shown: "[crane]",
  });
});

test("a sample of a union has the discriminator, also where its variant has a default for it", () => {
  const union = z.discriminatedUnion("kind", [
    z.object({ kind: z.literal("a").default("a"), n: z.int() }),
    z.object({ kind: z.literal("b"), text: z.string() }),
  ]);
  const { action: schema } = defineContract({ name: "u_env", action: union, observation: z.object({}) }).schemas();
  expect(sampleValue(schema)).toEqual({ kind: "a", n: 1 });
  const kinds = Array.from({ length: 20 }, (_, seed) => sampleValue(schema, rng(seed)));
  for (const sample of kinds) expect(union.safeParse(sample).error).toBeUndefined();
  expect(new Set(kinds.map((sample) => (sample as { kind: string }).kind))).toEqual(new Set(["a", "b"]));
});
