import { expect, test } from "vitest";
import * as z from "zod";
import { defineContract } from "../env/contract.js";
import type { SchemaBody } from "./http.js";
import { diffSchemas } from "./schema-diff.js";

/** What is published of an environment whose one tool returns this. */
function published(output?: z.ZodType): SchemaBody {
  const find = { description: "Finds.", input: z.object({ text: z.string() }) };
  return defineContract({ name: "a_env", tools: { find: output ? { ...find, output } : find } }).schemas();
}

test("the result of a tool is published with its schema, as tools/list has it", () => {
  expect(published(z.object({ at: z.int() })).tools).toMatchObject([
    { name: "find", output_schema: { type: "object", properties: { at: { type: "integer" } } } },
  ]);
  const { properties } = published(z.array(z.string())).tools?.[0]?.output_schema ?? {};
  expect(properties).toMatchObject({ result: { type: "array", items: { type: "string" } } });
  expect(published().tools?.[0]).not.toHaveProperty("output_schema");
});

test("a result that changed breaks clients; one without a schema says nothing", () => {
  const before = published(z.object({ at: z.int(), word: z.string() }));
  expect(diffSchemas(before, published(z.object({ at: z.string(), word: z.string() })))).toMatchObject([
    { part: "tools", path: "find.at", breaking: true },
  ]);
  expect(diffSchemas(before, before)).toEqual([]);
  expect(diffSchemas(before, published())).toEqual([]);
  expect(diffSchemas(published(), before)).toEqual([]);
});
