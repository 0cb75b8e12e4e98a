import { describe, expect, test } from "vitest";
import * as z from "zod";
import { defineContract } from "../contract.js";
import { bytes, datetime, image } from "../fields.js";
import { renderSchemas } from "./schema.js";

const text = expect.any(String);
const METADATA = { additionalProperties: true, description: text, title: "Metadata", type: "object" };
const OBSERVATION_BASE = {
  done: { default: false, description: text, title: "Done", type: "boolean" },
  reward: {
    anyOf: [{ type: "boolean" }, { type: "integer" }, { type: "number" }, { type: "null" }],
    default: null,
    description: text,
    title: "Reward",
  },
  metadata: METADATA,
};
const STATE_BASE = {
  episode_id: {
    anyOf: [{ type: "string" }, { type: "null" }],
    default: null,
    description: text,
    title: "Episode Id",
  },
  step_count: { default: 0, description: text, minimum: 0, title: "Step Count", type: "integer" },
};

const none = z.object({});

function fieldOf(field: z.ZodType, part: "action" | "observation" = "action"): unknown {
  const shape = { action: none, observation: none, state: none, [part]: z.object({ field_name: field }) };
  return (renderSchemas({ name: "a_env", ...shape })[part]["properties"] as Record<string, unknown>)["field_name"];
}

test("the counter's schemas are those that the Python package publishes for its counter", () => {
  const counter = defineContract({
    name: "counter_env",
    action: z
      .object({ amount: z.int().min(-100).max(100).describe("How much to add") })
      .describe("Add an amount to the counter."),
    observation: z.object({ count: z.int().default(0).describe("Current count") }).describe("The counter value."),
    state: z
      .object({ total: z.int().default(0).describe("Sum of absolute amounts this session") })
      .describe("Counter state."),
  });
  const observation = {
    additionalProperties: false,
    description: "The counter value.",
    properties: {
      ...OBSERVATION_BASE,
      count: { default: 0, description: "Current count", title: "Count", type: "integer" },
    },
    title: "CounterObservation",
    type: "object",
  };
  expect(counter.schemas()).toEqual({
    action: {
      additionalProperties: false,
      description: "Add an amount to the counter.",
      properties: {
        metadata: METADATA,
        amount: { description: "How much to add", maximum: 100, minimum: -100, title: "Amount", type: "integer" },
      },
      required: ["amount"],
      title: "CounterAction",
      type: "object",
    },
    observation,
    state: {
      additionalProperties: true,
      description: "Counter state.",
      properties: {
        ...STATE_BASE,
        total: { default: 0, description: "Sum of absolute amounts this session", title: "Total", type: "integer" },
      },
      title: "CounterState",
      type: "object",
    },
    reset_observation: observation,
  });
});

const Color = z.enum(["red", "blue"]).meta({ id: "Color" });
const Point = z
  .object({ x: z.int(), y: z.number().default(0.5), label: z.string().nullable().default(null) })
  .meta({ id: "Point" });
const DEFS = {
  Color: { enum: ["red", "blue"], title: "Color", type: "string" },
  Point: {
    properties: {
      x: { title: "X", type: "integer" },
      y: { default: 0.5, title: "Y", type: "number" },
      label: { anyOf: [{ type: "string" }, { type: "null" }], default: null, title: "Label" },
    },
    required: ["x"],
    title: "Point",
    type: "object",
  },
};
/** A field of every kind, with the schema that the Python package publishes for the environment `kinds`. */
const KINDS: [string, z.ZodType, object][] = [
  ["text", z.string().min(1).max(20), { maxLength: 20, minLength: 1, title: "Text", type: "string" }],
  [
    "whole",
    z.int().min(0).max(10).default(3),
    { default: 3, maximum: 10, minimum: 0, title: "Whole", type: "integer" },
  ],
  [
    "ratio",
    z.number().gt(0).lt(1).default(0.25),
    { default: 0.25, exclusiveMaximum: 1, exclusiveMinimum: 0, title: "Ratio", type: "number" },
  ],
  ["flag", z.boolean().default(false), { default: false, title: "Flag", type: "boolean" }],
  ["color", Color.default("red"), { $ref: "#/$defs/Color", default: "red" }],
  ["pick", z.literal(["a", "b"]).default("a"), { default: "a", enum: ["a", "b"], title: "Pick", type: "string" }],
  [
    "maybe",
    z.int().nullable().default(null),
    { anyOf: [{ type: "integer" }, { type: "null" }], default: null, title: "Maybe" },
  ],
  [
    "items",
    z.array(z.int()).max(3).default([]),
    { items: { type: "integer" }, maxItems: 3, title: "Items", type: "array" },
  ],
  [
    "table",
    z.record(z.string(), z.number()).default({}),
    { additionalProperties: { type: "number" }, title: "Table", type: "object" },
  ],
  ["point", Point.default({ x: 1, y: 0.5, label: null }), { $ref: "#/$defs/Point" }],
  [
    "maybe_point",
    Point.nullable().default(null),
    { anyOf: [{ $ref: "#/$defs/Point" }, { type: "null" }], default: null },
  ],
  ["points", z.array(Point).default([]), { items: { $ref: "#/$defs/Point" }, title: "Points", type: "array" }],
  [
    "either",
    z.union([z.int(), z.string()]).default(0),
    { anyOf: [{ type: "integer" }, { type: "string" }], default: 0, title: "Either" },
  ],
  [
    "pair",
    z.tuple([z.int(), z.string()]).default([1, "one"]),
    {
      default: [1, "one"],
      maxItems: 2,
      minItems: 2,
      prefixItems: [{ type: "integer" }, { type: "string" }],
      title: "Pair",
      type: "array",
    },
  ],
  [
    "when",
    datetime().nullable().default(null),
    { anyOf: [{ format: "date-time", type: "string" }, { type: "null" }], default: null, title: "When" },
  ],
  [
    "ident",
    z.uuid().nullable().default(null),
    { anyOf: [{ format: "uuid", type: "string" }, { type: "null" }], default: null, title: "Ident" },
  ],
  ["blob", bytes().default(() => null as never), { default: null, format: "binary", title: "Blob", type: "string" }],
  ["anything", z.unknown().default(null), { default: null, title: "Anything" }],
  ["reward_kind", z.string().default("none"), { default: "none", title: "Reward Kind", type: "string" }],
];

test("a field of every kind has the shape and place of the Python package's schema, in actions and in observations", () => {
  const shape = Object.fromEntries(KINDS.map(([name, field]) => [name, field]));
  const fields = Object.fromEntries(KINDS.map(([name, , schema]) => [name, schema]));
  const required = ["text"];
  const kinds = defineContract({ name: "kinds", action: z.object(shape), observation: z.object(shape) });
  const { action, observation, state } = kinds.schemas();
  const closed = { $defs: DEFS, additionalProperties: false, required, type: "object" };
  expect(action).toEqual({ ...closed, properties: { metadata: METADATA, ...fields }, title: "KindsAction" });
  expect(observation).toEqual({
    ...closed,
    properties: { ...OBSERVATION_BASE, ...fields },
    title: "KindsObservation",
  });
  expect(state).toEqual({ additionalProperties: true, properties: STATE_BASE, title: "KindsState", type: "object" });
  expect(Object.keys(action)).toEqual(["$defs", "additionalProperties", "properties", "required", "title", "type"]);
  expect(Object.keys(action["properties"] as object)).toEqual(["metadata", ...KINDS.map(([name]) => name)]);
  expect(Object.keys((action["properties"] as Record<string, object>)["ratio"] as object)).toEqual([
    "default",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "title",
    "type",
  ]);
});

describe("a field", () => {
  test.each<[string, z.ZodType, object]>([
    [
      "of one constant",
      z.literal("call_tool").default("call_tool"),
      { const: "call_tool", default: "call_tool", type: "string" },
    ],
    ["of free objects", z.record(z.string(), z.unknown()), { additionalProperties: true, type: "object" }],
    [
      "of a nested object allows undeclared members",
      z.object({ deep_one: z.int().optional() }),
      { properties: { deep_one: { title: "Deep One", type: "integer" } }, type: "object" },
    ],
    [
      "of a strict nested object rejects them",
      z.strictObject({}),
      { additionalProperties: false, properties: {}, type: "object" },
    ],
    [
      "of a loose nested object declares them as allowed",
      z.looseObject({}),
      { additionalProperties: true, properties: {}, type: "object" },
    ],
    [
      "of an integer with custom limits keeps them",
      z.int().max(9007199254740990),
      { maximum: 9007199254740990, type: "integer" },
    ],
    ["of 32 bits keeps its range", z.int32(), { maximum: 2147483647, minimum: -2147483648, type: "integer" }],
    ["of an ISO string has a format and no pattern", z.iso.datetime(), { format: "date-time", type: "string" }],
    ["with a pattern keeps it", z.string().regex(/^a+$/), { pattern: "^a+$", type: "string" }],
    [
      "of a nullable string keeps the limits on the string branch",
      z.string().min(2).nullable(),
      { anyOf: [{ minLength: 2, type: "string" }, { type: "null" }] },
    ],
    ["with a custom title keeps it", z.int().meta({ title: "Own" }), { title: "Own", type: "integer" }],
    ["that is read-only is an ordinary one", z.string().readonly(), { type: "string" }],
    [
      "of an image has its encoding",
      image(),
      { contentEncoding: "base64", contentMediaType: "image/*", type: "string" },
    ],
    ["with a meta type may be of any type", z.custom<string>().meta({ type: "string" }), { type: "string" }],
  ])("%s", (_what, field, schema) => {
    expect(fieldOf(field)).toEqual({ title: "Field Name", ...schema });
  });

  test("has the output type in an observation and the input type in an action", () => {
    const field = z.string().pipe(z.coerce.number());
    expect(fieldOf(field)).toMatchObject({ type: "string" });
    expect(fieldOf(field, "observation")).toMatchObject({ type: "number" });
  });

  test("that is optional is not required, one of an unknown type is", () => {
    const action = z.object({ maybe: z.int().optional(), anything: z.unknown(), filled: z.int().prefault(1) });
    expect(renderSchemas({ name: "a", action, observation: none, state: none }).action["required"]).toEqual([
      "anything",
    ]);
  });

  test("of a recursive type refers to itself", () => {
    const Tree = z
      .object({
        get kids() {
          return z.array(Tree);
        },
      })
      .meta({ id: "Tree" });
    const { action } = renderSchemas({ name: "a", action: z.object({ tree: Tree }), observation: none, state: none });
    expect(action["$defs"]).toEqual({
      Tree: {
        properties: { kids: { items: { $ref: "#/$defs/Tree" }, title: "Kids", type: "array" } },
        required: ["kids"],
        title: "Tree",
        type: "object",
      },
    });
  });
});

test("the title comes from the schema's own meta, else from the contract's name", () => {
  const title = (name: string, action = none) =>
    renderSchemas({ name, action, observation: none, state: none }).action["title"];
  expect(title("word_game_env")).toBe("WordGameAction");
  expect(title("wordGame")).toBe("WordGameAction");
  expect(title("a-b env")).toBe("ABAction");
  expect(title("x", z.object({}).meta({ title: "Own" }) as typeof none)).toBe("Own");
  expect(title("x", z.object({}).meta({ id: "ById" }) as typeof none)).toBe("ById");
});

describe("a type without a JSON form is a TypeError that names the field and the remedy", () => {
  test.each<[string, z.ZodType, RegExp]>([
    ["Map", z.map(z.string(), z.int()), /^state\.foo: z\.map\(\) has no JSON form; use z\.record\(\)/],
    ["Date", z.date(), /^state\.foo: z\.date\(\).*datetime\(\)/],
    ["bigint", z.bigint().optional(), /^state\.foo: z\.bigint\(\)/],
    ["item of a list", z.array(z.set(z.int())), /^state\.foo\[\]: z\.set\(\)/],
    ["nested field", z.object({ bar: z.tuple([z.symbol()]) }), /^state\.foo\.bar\[0\]: z\.symbol\(\)/],
    ["member of a map", z.record(z.string(), z.nan()), /^state\.foo\.\*: z\.nan\(\)/],
    ["function's result", z.string().transform(() => new Map()), /^state\.foo: z\.transform\(\)/],
    ["custom check", z.custom(() => true), /^state\.foo: z\.custom\(\)/],
  ])("%s", (_kind, foo, message) => {
    const state = z.object({ foo });
    const render = () => renderSchemas({ name: "a", action: none, observation: none, state });
    expect(render).toThrow(TypeError);
    expect(render).toThrow(message);
  });
});

describe("a recursive type", () => {
  const node = (meta = {}) => {
    const Node = z
      .object({
        name: z.string(),
        get children(): z.ZodArray {
          return z.array(Node);
        },
      })
      .meta(meta);
    return Node;
  };
  const defsOf = (action: z.ZodObject): string[] =>
    Object.keys(
      defineContract({ name: "tree_env", action, observation: z.object({}) }).schemas().action["$defs"] as object,
    );

  test.each([
    ["its title", z.object({ root: node({ title: "File tree" }) }), ["FileTree"]],
    ["the field that has it", z.object({ files: z.array(node()) }), ["Files"]],
    ["the field, with a number", z.object({ files: node(), more: z.object({ files: node() }) }), ["Files", "Files2"]],
    ["the action", node(), ["Children", "TreeAction"]],
  ])("is named by %s", (_what, action, names) => {
    expect(defsOf(action)).toEqual(names);
  });

  test("has the same name in every reference, also in the schemas of tools", () => {
    const input = z.object({ file_tree: node() });
    const tools = { look: { description: "Looks.", input } };
    const [tool] = defineContract({ name: "tree_env", tools }).schemas().tools ?? [];
    expect(tool?.input_schema).toMatchObject({
      properties: { file_tree: { $ref: "#/$defs/FileTree" } },
      $defs: { FileTree: { properties: { children: { items: { $ref: "#/$defs/FileTree" } } } } },
    });
    expect(JSON.stringify(tool)).not.toContain("__schema");
  });
});
