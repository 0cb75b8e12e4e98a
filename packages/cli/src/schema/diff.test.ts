import fc from "fast-check";
import type { SchemaBody } from "openenv-ts/protocol";
import { describe, expect, test } from "vitest";
import { brokenFields } from "../../../openenv/src/protocol/schema/broken-fields.js";
import { diffSchemas } from "./diff.js";

type Json = Record<string, unknown>;
const integer = { type: "integer" };
const string = { type: "string" };
const nullable = { anyOf: [integer, { type: "null" }] };

function object(properties: Json, required: string[] = Object.keys(properties), more: Json = {}): Json {
  return { additionalProperties: false, properties, required, type: "object", ...more };
}

function body(parts: Partial<SchemaBody>): SchemaBody {
  const empty = object({});
  return { action: empty, observation: empty, state: empty, reset_observation: empty, ...parts };
}

/** `[path, breaking]` of every change. A client that connects refuses the second schema only when one breaks. */
function changes(part: keyof SchemaBody, before: Json, after: Json) {
  const found = diffSchemas(body({ [part]: before }), body({ [part]: after }));
  for (const change of found) expect(change.part).toBe(part);
  const refused = brokenFields(before, after, part === "action" ? "sent" : "received").length > 0;
  if (refused)
    expect(
      found.some(({ breaking }) => breaking),
      JSON.stringify([before, after]),
    ).toBe(true);
  return found.map(({ path, breaking }) => [path, breaking]);
}

const BREAKS = true;
const FINE = false;

describe("an action breaks the old client when it can no longer send what it sends", () => {
  test.each<[string, Json, Json, [string, boolean][]]>([
    ["nothing changed", object({ a: integer }), object({ a: integer }), []],
    ["a field was removed", object({ a: integer, b: integer }), object({ a: integer }), [["b", BREAKS]]],
    ["a field became required", object({ a: integer }, []), object({ a: integer }), [["a", BREAKS]]],
    ["a required field was added", object({}), object({ a: integer }), [["a", BREAKS]]],
    ["an optional field was added", object({}), object({ a: integer }, []), [["a", FINE]]],
    ["a field may be left out now", object({ a: integer }), object({ a: integer }, []), [["a", FINE]]],
    ["a type changed", object({ a: integer }), object({ a: string }), [["a", BREAKS]]],
    ["a number must be whole", object({ a: { type: "number" } }), object({ a: integer }), [["a", BREAKS]]],
    ["an integer may be any number", object({ a: integer }), object({ a: { type: "number" } }), [["a", FINE]]],
    ["null is refused now", object({ a: nullable }), object({ a: integer }), [["a", BREAKS]]],
    ["null is taken now", object({ a: integer }), object({ a: nullable }), [["a", FINE]]],
    ["a choice was removed", object({ a: { enum: ["x", "y"] } }), object({ a: { enum: ["y"] } }), [["a", BREAKS]]],
    ["a choice was added", object({ a: { enum: ["x"] } }), object({ a: { enum: ["x", "y"] } }), [["a", FINE]]],
    ["a text became a choice", object({ a: string }), object({ a: { enum: ["x"], type: "string" } }), [["a", BREAKS]]],
    ["a choice became a text", object({ a: { const: "x" } }), object({ a: string }), [["a", FINE]]],
    ["anything became a text", object({ a: {} }), object({ a: string }), [["a", BREAKS]]],
    ["a text became anything", object({ a: string }), object({ a: {} }), [["a", FINE]]],
    [
      "a maximum came down",
      object({ a: { ...integer, maximum: 9 } }),
      object({ a: { ...integer, maximum: 8 } }),
      [["a", BREAKS]],
    ],
    [
      "a maximum went up",
      object({ a: { ...integer, maximum: 8 } }),
      object({ a: { ...integer, maximum: 9 } }),
      [["a", FINE]],
    ],
    ["a minimum of 0 came", object({ a: integer }), object({ a: { ...integer, minimum: 0 } }), [["a", BREAKS]]],
    ["a length limit came", object({ a: string }), object({ a: { ...string, maxLength: 3 } }), [["a", BREAKS]]],
    ["a length of 0 is written out", object({ a: string }), object({ a: { ...string, minLength: 0 } }), []],
    [
      "a pattern changed",
      object({ a: { ...string, pattern: "a" } }),
      object({ a: { ...string, pattern: "b" } }),
      [["a", BREAKS]],
    ],
    ["a format was dropped", object({ a: { ...string, format: "uuid" } }), object({ a: string }), [["a", FINE]]],
    [
      "an item of a list changed",
      object({ l: { type: "array", items: object({ x: integer }) } }),
      object({ l: { type: "array", items: object({ x: string }) } }),
      [["l[].x", BREAKS]],
    ],
    [
      "a member of a map changed",
      object({ m: { type: "object", additionalProperties: integer } }),
      object({ m: { type: "object", additionalProperties: string } }),
      [["m.*", BREAKS]],
    ],
    [
      "a fixed list has another second item",
      object({ t: { type: "array", prefixItems: [integer, integer] } }),
      object({ t: { type: "array", prefixItems: [integer, string] } }),
      [["t[1]", BREAKS]],
    ],
    [
      "a fixed list got longer",
      object({ t: { type: "array", prefixItems: [integer] } }),
      object({ t: { type: "array", prefixItems: [integer, integer] } }),
      [["t", BREAKS]],
    ],
    [
      "one of several shapes was changed",
      object({ u: { oneOf: [object({ a: integer }), object({ b: integer })] } }),
      object({ u: { oneOf: [object({ a: integer }), object({ b: string })] } }),
      [["u.b", BREAKS]],
    ],
  ])("%s", (_what, before, after, expected) => {
    expect(changes("action", before, after)).toEqual(expected);
  });
});

describe.each(["observation", "state", "reset_observation"] as const)("%s breaks the old client when", (part) => {
  test.each<[string, Json, Json, [string, boolean][]]>([
    ["a field was removed", object({ a: integer }), object({}), [["a", BREAKS]]],
    ["a field with a default was removed", object({ a: { ...integer, default: 0 } }, []), object({}), [["a", BREAKS]]],
    ["a field may be missing now", object({ a: integer }), object({ a: integer }, []), [["a", BREAKS]]],
    ["a field may be null now", object({ a: integer }), object({ a: nullable }), [["a", BREAKS]]],
    ["a type changed", object({ a: integer }), object({ a: string }), [["a", BREAKS]]],
    ["a type was widened", object({ a: integer }), object({ a: { type: "number" } }), [["a", BREAKS]]],
    ["a choice was added", object({ a: { enum: ["x"] } }), object({ a: { enum: ["x", "y"] } }), [["a", BREAKS]]],
    ["a limit was lifted", object({ a: { ...integer, maximum: 9 } }), object({ a: integer }), [["a", BREAKS]]],
    [
      "a shape was added",
      object({ u: { anyOf: [object({ a: integer })] } }),
      object({ u: { anyOf: [object({ a: integer }), object({ b: integer })] } }),
      [
        ["u.a", BREAKS],
        ["u.b", FINE],
      ],
    ],
  ])("%s", (_what, before, after, expected) => {
    expect(changes(part, before, after)).toEqual(expected);
  });

  test.each<[string, Json, Json, [string, boolean][]]>([
    ["a field was added", object({}), object({ a: integer }), [["a", FINE]]],
    [
      "a required field has a default now",
      object({ a: integer }),
      object({ a: { ...integer, default: 0 } }, []),
      [["a", FINE]],
    ],
    ["a field is always there now", object({ a: integer }, []), object({ a: integer }), [["a", FINE]]],
    ["a choice was removed", object({ a: { enum: ["x", "y"] } }), object({ a: { enum: ["y"] } }), [["a", FINE]]],
    ["null comes no more", object({ a: nullable }), object({ a: integer }), [["a", FINE]]],
    ["a default came or went", object({ a: { ...integer, default: 0 } }, []), object({ a: integer }, []), []],
  ])("not when %s", (_what, before, after, expected) => {
    expect(changes(part, before, after)).toEqual(expected);
  });
});

test("an added field of an observation says whom it can trouble", () => {
  const [change] = diffSchemas(body({}), body({ observation: object({ a: integer }) }));
  expect(change).toEqual({
    part: "observation",
    path: "a",
    breaking: false,
    message: '"a" was added; clients that refuse unknown fields need the new contract',
  });
});

test("a message names the field, what it was and what it is", () => {
  const message = (before: Json, after: Json) =>
    diffSchemas(body({ action: object({ a: before }) }), body({ action: object({ a: after }) }))[0]?.message;
  expect(message(integer, string)).toBe('"a" changed from integer to string');
  expect(message({ enum: ["x", "y"] }, { enum: ["x"] })).toBe('"a" no longer takes "y"');
  expect(message({ ...integer, maximum: 9 }, { ...integer, maximum: 8 })).toBe('"a" has maximum 8 instead of 9');
});

test("a server without a schema for resets is compared by its observations", () => {
  const { reset_observation: _none, ...older } = body({ observation: object({ a: integer }) });
  const found = diffSchemas(body({ observation: object({ a: integer }) }), older as SchemaBody);
  expect(found).toMatchObject([{ part: "reset_observation", path: "a", breaking: false }]);
});

describe("references", () => {
  const point = (x: Json) => object({ p: { $ref: "#/$defs/P" } }, ["p"], { $defs: { P: object({ x }) } });

  test("are followed, whatever the definitions are called", () => {
    const inline = object({ p: object({ x: integer }) });
    expect(changes("action", point(integer), inline)).toEqual([]);
    expect(changes("action", point(integer), point(string))).toEqual([["p.x", BREAKS]]);
  });

  test("to themselves come to an end", () => {
    const tree = (value: Json) =>
      object({ t: { $ref: "#/$defs/T" } }, ["t"], {
        $defs: { T: object({ value, kids: { type: "array", items: { $ref: "#/$defs/T" } } }) },
      });
    expect(changes("action", tree(integer), tree(integer))).toEqual([]);
    expect(changes("action", tree(integer), tree(string))).toEqual([["t.value", BREAKS]]);
    const loop = object({ a: { $ref: "#/$defs/L" } }, ["a"], {
      $defs: { L: { anyOf: [{ $ref: "#/$defs/L" }, integer] } },
    });
    expect(changes("action", loop, object({ a: integer }))).toEqual([]);
  });

  test("to elsewhere say nothing instead of failing", () => {
    const away = object({ a: { $ref: "https://example.org/schema" } });
    expect(changes("action", away, away)).toEqual([]);
  });
});

test("schemas that are none are compared without an error", () => {
  const keyword = fc.constantFrom(
    "anyOf",
    "enum",
    "type",
    "properties",
    "required",
    "items",
    "prefixItems",
    "$ref",
    "allOf",
  );
  const schema = fc.letrec((tie) => ({
    node: fc.oneof(
      { maxDepth: 4 },
      fc.jsonValue({ maxDepth: 1 }),
      fc.constant({ $ref: "#/%/a" }),
      tie("object"),
      tie("list"),
    ),
    object: fc.dictionary(keyword, tie("node")),
    list: fc.array(tie("node"), { maxLength: 3 }),
  })).object;
  fc.assert(
    fc.property(schema, schema, (one, two) => {
      expect(changes("action", one as Json, one as Json)).toEqual([]);
      changes("observation", one as Json, two as Json);
    }),
    { numRuns: 300 },
  );
});

test("a client refuses nothing that does not break, whatever the schemas are", () => {
  const limits = fc.record(
    { minimum: fc.nat(2), maxLength: fc.nat(2), format: fc.constant("uuid") },
    { requiredKeys: [] },
  );
  const scalar = fc
    .tuple(fc.constantFrom("string", "integer", "number", "null", undefined), limits)
    .map(([type, more]): Json => (type === undefined ? more : { type, ...more }));
  const value = fc.constantFrom<unknown>("x", 1, 1.5, null);
  const { node } = fc.letrec<{ node: Json }>((tie) => ({
    node: fc.oneof(
      { maxDepth: 3, withCrossShrink: true },
      scalar,
      fc.record({ enum: fc.uniqueArray(value, { maxLength: 3 }) }),
      fc.record({ const: value }),
      fc.constant({ $ref: "#" }),
      fc.record({ anyOf: fc.array(tie("node"), { maxLength: 3 }) }),
      fc.record({ type: fc.constant("array"), items: tie("node") }),
      fc.record({ type: fc.constant("array"), prefixItems: fc.array(tie("node"), { maxLength: 2 }) }),
      fc.record(
        {
          type: fc.constant("object"),
          properties: fc.record({ a: tie("node"), b: tie("node") }, { requiredKeys: [] }),
          required: fc.subarray(["a", "b"]),
          additionalProperties: fc.oneof(fc.boolean(), tie("node")),
        },
        { requiredKeys: ["type", "properties"] },
      ),
    ),
  }));
  const pair = fc.tuple(node, node).map(([one, two]) => [object({ f: one }), object({ f: two })] as const);
  fc.assert(
    fc.property(pair, ([one, two]) => {
      for (const part of ["action", "observation"] as const) changes(part, one, two);
    }),
    { numRuns: 2_000 },
  );
});

test("a contract rendered by Python equals the same contract rendered by us", () => {
  const python = object(
    {
      metadata: { additionalProperties: true, description: "Additional metadata", title: "Metadata", type: "object" },
      color: { $ref: "#/$defs/Color", default: "red" },
      maybe: { anyOf: [{ type: "integer" }, { type: "null" }], default: null, title: "Maybe" },
      items: { items: { type: "integer" }, maxItems: 3, title: "Items", type: "array" },
      pair: {
        default: [1, "one"],
        maxItems: 2,
        minItems: 2,
        prefixItems: [{ type: "integer" }, { type: "string" }],
        title: "Pair",
        type: "array",
      },
      ratio: { default: 1.0, title: "Ratio", type: "number" },
      anything: { default: null, title: "Anything" },
    },
    [],
    { $defs: { Color: { enum: ["red", "blue"], title: "Color", type: "string" } }, title: "KindsAction" },
  );
  const ours = object(
    {
      ratio: { type: "number", default: 1 },
      anything: {},
      color: { type: "string", enum: ["blue", "red"] },
      maybe: { type: ["null", "integer"] },
      items: { type: "array", items: { type: "integer" }, maxItems: 3, default: [] },
      pair: {
        type: "array",
        prefixItems: [{ type: "integer" }, { type: "string" }],
        minItems: 2,
        maxItems: 2,
        items: false,
      },
      metadata: { type: "object", additionalProperties: {} },
    },
    [],
  );
  for (const part of ["action", "observation"] as const) {
    expect(changes(part, python, ours)).toEqual([]);
    expect(changes(part, ours, python)).toEqual([]);
  }
});
