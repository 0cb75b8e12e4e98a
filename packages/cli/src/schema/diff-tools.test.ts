import { expect, test } from "vitest";
import * as z from "zod";
import type { Tools } from "../../../openenv/src/contract/tools/tools.js";
import { defineContract } from "../../../openenv/src/index.js";
import type { SchemaBody } from "../../../openenv/src/protocol/http.js";
import { diffSchemas } from "./diff.js";

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

test("a tool that was removed or requires more breaks clients, a new one does not", () => {
  const look = { description: "Looks.", output: z.string() };
  const go = (input: z.ZodObject) => ({ description: "Goes.", input });
  const schemas = (tools: Tools) => defineContract({ name: "a_env", tools }).schemas();
  const changes = diffSchemas(
    schemas({ look, go: go(z.object({ to: z.string() })) }),
    schemas({ go: go(z.object({ to: z.string(), speed: z.int() })), more: look }),
  );
  expect(changes.map(({ part, path, breaking }) => [part, path, breaking])).toEqual([
    ["tools", "look", true],
    ["tools", "go.speed", true],
    ["tools", "more", false],
  ]);
});
