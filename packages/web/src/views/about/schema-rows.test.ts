import { describe, expect, test } from "vitest";
import { counterContract } from "../../../../../test-support/environments/counter.js";
import { fieldsOf, typeOf } from "./schema-rows.js";

describe("the fields of a schema", () => {
  test("have their type, default and description, and those that everything has come last", () => {
    const { action, observation } = counterContract.schemas();
    expect(fieldsOf(action)).toEqual([
      { path: "amount", type: "integer -100–100", preset: "required", description: "How much to add" },
      { path: "metadata", type: "object", preset: "optional", description: expect.any(String) },
    ]);
    expect(fieldsOf(observation).map(({ path }) => path)).toEqual(["count", "done", "reward", "metadata"]);
  });

  test("what is inside of a field, a list or an optional object is listed below it", () => {
    const point = {
      type: "object",
      title: "Point",
      properties: { x: { type: "number" }, y: { type: "number", default: 0 } },
    };
    const rows = fieldsOf({
      type: "object",
      properties: {
        home: { anyOf: [{ $ref: "#/$defs/Point" }, { type: "null" }], default: null },
        points: { type: "array", items: { $ref: "#/$defs/Point" }, default: [] },
      },
      $defs: { Point: point },
    });
    expect(rows.map(({ path, type, preset }) => [path, type, preset])).toEqual([
      ["home", "Point or null", "null"],
      ["home.x", "number", "optional"],
      ["home.y", "number", "0"],
      ["points", "array of Point", "[]"],
      ["points[].x", "number", "optional"],
      ["points[].y", "number", "0"],
    ]);
  });

  test("a schema that contains itself, or a reference that leads nowhere, comes to an end", () => {
    const node = { type: "object", properties: { next: { $ref: "#/$defs/Node" }, lost: { $ref: "#/$defs/Lost" } } };
    const rows = fieldsOf({ type: "object", properties: { first: { $ref: "#/$defs/Node" } }, $defs: { Node: node } });
    expect(rows.map(({ path }) => path)).toEqual(["first", "first.next", "first.lost"]);
  });

  test.each([
    [{ enum: ["a", "b"] }, '"a" or "b"'],
    [{ const: 3 }, "3"],
    [{ type: ["integer", "null"] }, "integer or null"],
    [{ prefixItems: [{ type: "string" }, { type: "integer" }], type: "array" }, "[string, integer]"],
    [{ type: "string", format: "email" }, "string, email"],
    [{ type: "string", maxLength: 65536 }, "string ≤ 65,536 characters"],
    [{ type: "integer", minimum: -9007199254740991, maximum: 9007199254740991 }, "integer"],
    [{ type: "integer", minimum: 0 }, "integer ≥ 0"],
    [{ enum: [1, 2, 3, 4, 5, 6, 7, 8] }, "1 or 2 or 3 or 4 or 5 or 6 or 2 more"],
    [{}, "any"],
  ])("%j is %s", (schema, expected) => {
    expect(typeOf(schema, schema)).toBe(expected);
  });
});
