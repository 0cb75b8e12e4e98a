import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../../openenv/src/protocol/messages.js";
import { readTypes } from "../read-types.js";
import { renderToolTypes, renderTypeScriptTypes } from "./render-typescript.js";

const point = { type: "object", properties: { x: { type: "number" } }, required: ["x"] };
const action = {
  type: "object",
  additionalProperties: false,
  required: ["at", "kind"],
  properties: {
    metadata: { type: "object", additionalProperties: true },
    at: { $ref: "#/$defs/Point" },
    kind: { enum: ["a", "b", null], description: "ends */ here\nand there" },
    "my-field": { anyOf: [{ type: "integer" }, { type: "null" }], default: null },
    pair: { type: "array", prefixItems: [{ type: "integer" }, { type: "string" }], minItems: 2, maxItems: 2 },
    scores: { type: "object", additionalProperties: { type: "number" } },
    moves: { type: "array", items: { oneOf: [{ const: 1 }, { const: "one" }] } },
    tree: { $ref: "#/$defs/Tree" },
    json: { $ref: "#/$defs/Json" },
    other: { description: "anything" },
    mode: { type: "object", additionalProperties: { type: "integer" }, propertyNames: { enum: ["a", "b"] } },
    both: { allOf: [{ $ref: "#/$defs/Point" }, { type: "object", properties: { y: { type: "number" } } }] },
    stop: { type: "object", properties: {} },
    price: { anyOf: [{ type: "number" }, { type: "string", pattern: "^(?!^[-+.]*$)[+-]?0*\\d*\\.?\\d*$" }] },
  },
  $defs: {
    Point: point,
    Tree: { type: "object", properties: { leaves: { type: "array", items: { $ref: "#/$defs/Tree" } } } },
    Json: { anyOf: [{ type: "string" }, { type: "object", additionalProperties: { $ref: "#/$defs/Json" } }] },
  },
};
const observation = {
  type: "object",
  properties: { seen: { type: "integer", default: 0 }, reward: {}, done: {}, where: point },
};
const reset = {
  type: "object",
  properties: { seen: { type: "string" }, hint: { type: "string" } },
  required: ["hint"],
};
const state = { type: "object", additionalProperties: true, properties: { episode_id: {}, step_count: {} } };

test("every kind of schema has its type, and an unspecified one is unknown", () => {
  const types = readTypes({ action, observation, state, reset_observation: reset }, "My");
  expect(renderTypeScriptTypes(types)).toBe(`/** The action that an agent sends in a step. */
export type MyAction = {
  at: Point;
  /** ends *\\/ here and there */
  kind: "a" | "b" | null;
  "my-field"?: number | null;
  pair?: [number, string];
  scores?: Record<string, number>;
  moves?: Array<1 | "one">;
  tree?: Tree;
  json?: Json;
  /** anything */
  other?: unknown;
  mode?: Partial<Record<"a" | "b", number>>;
  both?: MyActionBoth;
  stop?: MyActionStop;
  price?: number | string;
};

/** The observation that reset and step return, next to reward, done and metadata. */
export type MyObservation = {
  seen: number | string;
  where?: MyObservationWhere;
  hint?: string;
};

/** The state of an episode, in addition to its ID and the number of its steps. */
export type MyState = {
  [key: string]: unknown;
};

export type Point = {
  x: number;
};

export type Tree = {
  leaves?: Array<Tree>;
};

export type MyActionBoth = {
  x: number;
  y?: number;
};

export type MyActionStop = Record<string, never>;

export type MyObservationWhere = {
  x: number;
};

export type Json = string | { [key in string]: Json };`);
});

const click = { type: "object", properties: { kind: { const: "click" }, x: { type: "integer" } }, required: ["kind"] };
const stop = { type: "object", properties: { kind: { const: "stop", default: "stop" } } };

function typesOf(action: JsonObject): string {
  return renderTypeScriptTypes(readTypes({ action, observation, state, reset_observation: observation }, "My"));
}

describe("an action that is a union", () => {
  test("has a type for each variant: its title, else the value that tells it apart, else the field it requires", () => {
    const titled = typesOf({ oneOf: [{ $ref: "#/$defs/X" }, stop], $defs: { X: { ...click, title: "Double click" } } });
    expect(titled).toContain("export type MyAction = DoubleClick | Stop;");
    expect(titled).toContain('export type DoubleClick = {\n  kind: "click";\n  x?: number;\n};');
    expect(titled).toContain('export type Stop = {\n  kind: "stop";\n};');
    const variant = (field: string) => ({ type: "object", properties: { [field]: {} }, required: [field] });
    expect(typesOf({ anyOf: [variant("word"), variant("letter")] })).toContain(
      "export type MyAction = MyActionWord | MyActionLetter;",
    );
  });

  test("may be behind references, nested and next to fields that all variants have", () => {
    const $defs = { Both: { oneOf: [{ $ref: "#/$defs/Click" }, stop] }, Click: click };
    const nested = typesOf({ $ref: "#/$defs/Top", $defs: { ...$defs, Top: { anyOf: [{ $ref: "#/$defs/Both" }] } } });
    expect(nested).toContain("export type MyAction = Click | Stop;");
    const shared = typesOf({ properties: { by: { type: "string" } }, type: "object", oneOf: [click, stop] });
    expect(shared).toContain('export type Click = {\n  by?: string;\n  kind: "click";\n  x?: number;\n};');
  });

  test("of itself is an object behind a reference", () => {
    const tree = { type: "object", properties: { leaves: { type: "array", items: { $ref: "#/$defs/Tree" } } } };
    expect(typesOf({ $ref: "#/$defs/Tree", $defs: { Tree: tree } })).toContain("leaves?: Array<Tree>;");
  });
});

describe("what a client cannot express is an error that names the field:", () => {
  const inField = (schema: unknown) => ({ type: "object", properties: { a: { type: "array", items: schema } } });
  test.each([
    [{ type: "string" }, 'action has the schema {"type":"string"}, which a generated client cannot express.'],
    [{ anyOf: [click, { type: "null" }] }, "action has the schema "],
    [inField({ not: {} }), 'action.a[] has the schema {"not":{}}, which'],
    [inField({ type: "elephant" }), 'action.a[] has the schema {"type":"elephant"}, which'],
    [inField({ $ref: "#/nowhere" }), 'action.a[] refers to "#/nowhere", which is not there, which'],
    [inField({ $ref: "https://example.com/x" }), 'action.a[] refers to "https://example.com/x", which is not there'],
    [inField({ const: { a: 1 } }), 'action.a[] has the schema {"const":{"a":1}}, which'],
    [inField(false), 'action.a has the schema {"type":"array","items":false}, which'],
    [inField(3), "action.a[] has the schema 3, which"],
    [{ ...inField({ $ref: "#/$defs/A" }), $defs: { A: { $ref: "#/$defs/A" } } }, 'action.a[] refers to "#/$defs/A"'],
    [
      { ...inField({ $ref: "#/$defs/A" }), $defs: { A: { anyOf: [{ $ref: "#/$defs/A" }, { type: "null" }] } } },
      "action.a[] is a union with itself",
    ],
    [inField({ allOf: [{ type: "string" }, { type: "integer" }] }), "action.a[] has the schema "],
  ])("%j", (schema, problem) => {
    expect(() => typesOf(schema)).toThrow(problem);
    expect(() => readTypes({ action, observation: schema, state, reset_observation: schema }, "My")).toThrow(
      /^observation/,
    );
  });

  test("a schema that is nested too deeply", () => {
    let deep: object = { type: "integer" };
    for (let i = 0; i < 5_000; i++) deep = { type: "array", items: deep };
    expect(() => typesOf(inField(deep))).toThrow(/^action\.a(?:\[\])+ is nested more than 64 levels deep/);
  });

  test("an observation that is a union", () => {
    const union = { oneOf: [click, stop] };
    const read = () => readTypes({ action, observation: union, state, reset_observation: union }, "My");
    expect(read).toThrow("observation has the schema ");
  });
});

test("each tool has its arguments and its result, wrapped or not", () => {
  const wrapped = {
    type: "object",
    properties: { result: { type: "array", items: { type: "string" } } },
    "x-fastmcp-wrap-result": true,
  };
  const tools = [
    { name: "search", description: "Finds.", input_schema: point, output_schema: wrapped },
    { name: "look-up", description: "", input_schema: { type: "object", properties: {} }, output_schema: point },
    { name: "peek", description: "", input_schema: {} },
  ];
  const types = readTypes({ action, observation, state, reset_observation: reset, tools }, "My");
  expect(
    renderToolTypes(types.tools, "MyTools"),
  ).toBe(`/** The tools of the environment, with their inputs and outputs. */
export type MyTools = {
  /** Finds. */
  search: { input: MySearchArguments; output: Array<string> };
  "look-up": { input: Record<string, never>; output: MyLookUpResult };
  peek: { input: Record<string, never>; output: unknown };
};`);
  expect(renderTypeScriptTypes(types)).toContain(
    "/** The arguments of search. */\nexport type MySearchArguments = {\n  x: number;\n};",
  );
});
