import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../openenv/src/protocol/messages.js";
import { createValidator } from "./validator.js";

const shape = {
  oneOf: [
    {
      type: "object",
      properties: { kind: { const: "circle" }, radius: { type: "number", minimum: 1 } },
      required: ["kind", "radius"],
    },
    { type: "object", properties: { kind: { const: "square" }, side: { type: "number" } }, required: ["kind", "side"] },
  ],
} as const;

describe("what is wrong with a value", () => {
  test.each([
    [{ type: "integer", maximum: 10 }, 12, "Must be at most 10."],
    [{ type: "integer" }, "many", "Must be an integer."],
    [{ type: ["string", "null"], minLength: 3 }, "ab", "Must have at least 3 characters."],
    [{ enum: ["a", "b"] }, "c", 'Must be one of "a", "b".'],
    [{ type: "string", format: "email" }, "nobody", "Must be a valid email."],
    [{ type: "array", uniqueItems: true }, [1, 1], "Must not have the same item twice."],
  ])("is a sentence: %j", (rule, value, sentence) => {
    expect(messages({ type: "object", properties: { field: rule } }, { field: value })).toEqual([[".field", sentence]]);
  });

  test("stands at the field, also in lists and behind references", () => {
    const schema = {
      type: "object",
      properties: { points: { type: "array", items: { $ref: "#/$defs/point" } } },
      $defs: { point: { type: "object", properties: { x: { type: "number", minimum: 0 } }, required: ["x"] } },
    };
    expect(messages(schema, { points: [{ x: 1 }, { x: -1 }, {}] })).toEqual([
      [".points[1].x", "Must be at least 0."],
      [".points[2].x", "Required."],
    ]);
  });

  test.each([{ pattern: "(?P<name>x)" }, { $ref: "#/$defs/nowhere" }])(
    "is left to the server where the rule cannot be read: %j",
    (rule) => {
      expect(messages({ type: "object", properties: { field: rule } }, { field: "x" })).toEqual([]);
    },
  );

  test("of a union is that of the choice that was meant", () => {
    const schema = { type: "object", properties: { shape } };
    expect(messages(schema, { shape: { kind: "circle", radius: 0 } })).toEqual([
      [".shape.radius", "Must be at least 1."],
    ]);
    expect(messages(schema, { shape: { kind: "square", side: 2 } })).toEqual([]);
  });
});

function messages(schema: JsonObject, value: unknown): [string | undefined, string | undefined][] {
  const { errors } = createValidator(schema).validateFormData(value, schema);
  return errors.map(({ property, message }) => [property, message]);
}
