import { expect, test } from "vitest";
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
    other: { not: {} },
  },
  $defs: {
    Point: point,
    Tree: { type: "object", properties: { leaves: { type: "array", items: { $ref: "#/$defs/Tree" } } } },
    Json: { anyOf: [{ type: "string" }, { type: "array", items: { $ref: "#/$defs/Json" } }] },
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

test("every kind of schema has its type, and what a schema does not say is unknown", () => {
  const types = readTypes({ action, observation, state, reset_observation: reset }, "My");
  expect(renderTypeScriptTypes(types)).toBe(`/** What an agent sends in a step. */
export type MyAction = {
  at: Point;
  /** ends *\\/ here and there */
  kind: "a" | "b" | null;
  "my-field"?: number | null;
  pair?: [number, string];
  scores?: Record<string, number>;
  moves?: Array<1 | "one">;
  tree?: Tree;
  json?: string | Array<unknown>;
  other?: unknown;
};

/** What reset and step show, beside reward, done and metadata. */
export type MyObservation = {
  seen: number | string;
  where?: MyObservationWhere;
  hint?: string;
};

/** What the environment tells about an episode, beside its id and its steps. */
export type MyState = {
  [key: string]: unknown;
};

export type Point = {
  x: number;
};

export type Tree = {
  leaves?: Array<Tree>;
};

export type MyObservationWhere = {
  x: number;
};`);
});

test("schemas without end, or of nonsense, are read all the same", () => {
  let deep: object = { type: "integer" };
  for (let i = 0; i < 5_000; i++) deep = { type: "array", items: deep };
  const odd = {
    type: "object",
    properties: { deep, a: null, b: 3, c: { type: "elephant" }, d: { $ref: "#/nowhere" } },
  };
  const { action } = readTypes({ action: odd, observation: odd, state: odd, reset_observation: odd }, "My");
  expect(action.fields.map(({ type }) => type.kind)).toEqual(["list", "any", "any", "any", "any"]);
});

test("each tool has its arguments and its result, whether the schema wraps it or not", () => {
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
  ).toBe(`/** The tools of the environment: what they take and what they return. */
export type MyTools = {
  /** Finds. */
  search: { input: MySearchArguments; output: Array<string> };
  "look-up": { input: Record<string, never>; output: MyLookUpResult };
  peek: { input: Record<string, never>; output: unknown };
};`);
  expect(renderTypeScriptTypes(types)).toContain(
    "/** What search takes. */\nexport type MySearchArguments = {\n  x: number;\n};",
  );
});
