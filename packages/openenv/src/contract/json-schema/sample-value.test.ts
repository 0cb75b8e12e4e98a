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
  const variant = (tag: string) => ({ type: "object", properties: { kind: { const: tag, default: tag } } });
  const mapping = { a: "#/$defs/A", b: "#/$defs/B" };
  const union = {
    $defs: { A: variant("a"), B: variant("b") },
    discriminator: { propertyName: "kind", mapping },
    oneOf: Object.values(mapping).map(($ref) => ({ $ref })),
  };
  expect(sampleValue(union)).toEqual({ kind: "a" });
  const kinds = Array.from({ length: 20 }, (_, seed) => sampleValue(union, rng(seed)) as { kind: string });
  expect(new Set(kinds.map(({ kind }) => kind))).toEqual(new Set(["a", "b"]));
});
