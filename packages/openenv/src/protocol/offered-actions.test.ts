import { Ajv2020 } from "ajv/dist/2020.js";
import { expect, test } from "vitest";
import * as z from "zod";
import { sampleValue } from "../contract/json-schema/sample-value.js";
import { defineContract, defineTools } from "../index.js";
import { rng } from "../util/rng.js";
import { offeredActions } from "./offered-actions.js";

const Tree = z.object({
  value: z.int(),
  get children() {
    return z.array(Tree).max(2);
  },
});
const tools = defineTools({
  plant: { description: "Plants.", input: z.object({ tree: Tree, again: Tree }) },
  water: { description: "Waters." },
});

test("without tools it is the action", () => {
  const { schemas } = defineContract({ name: "x_env", action: z.object({ n: z.int() }), observation: z.object({}) });
  expect(offeredActions(schemas())).toEqual(schemas().action);
});

test.each([
  ["tools only", defineContract({ name: "tree_env", tools }), ["plant", "water"]],
  [
    "tools beside an action",
    defineContract({ name: "tree_env", action: z.object({ wait: Tree }), observation: z.object({}), tools }),
    ["plant", "wait", "water"],
  ],
])("with %s every kind of step is sampled, and is valid", (_, contract, kinds) => {
  const schema = offeredActions(contract.schemas());
  const check = new Ajv2020({ strict: false }).compile(schema);
  const random = rng(3);
  const drawn = new Set<unknown>();
  for (let i = 0; i < 50; i++) {
    const action = sampleValue(schema, random) as { tool_name?: string; wait?: unknown };
    expect([check(action), check.errors]).toEqual([true, null]);
    drawn.add(action.tool_name ?? Object.keys(action)[0]);
  }
  expect([...drawn].toSorted()).toEqual(kinds);
  expect(check({ type: "call_tool", tool_name: "burn", arguments: {} })).toBe(false);
  expect(check({ type: "call_tool", tool_name: "plant", arguments: {} })).toBe(false);
});
