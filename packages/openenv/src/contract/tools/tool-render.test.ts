import { describe, expect, test } from "vitest";
import * as z from "zod";
import { createToolSet } from "../../environment/tools/tool-set.js";
import { bytes, defineContract, defineTools } from "../../index.js";

const tools = defineTools({
  go: {
    description: "Goes.",
    title: "Go",
    input: z.object({ to: z.enum(["north", "south"]).describe("Where to"), steps: z.int().min(1).default(1) }),
    output: z.object({ seen: z.array(z.string()) }),
  },
  look: { description: "Looks.", output: z.string() },
  shout: { description: "Shouts." },
});

const set = (declared: Parameters<typeof createToolSet>[0]) => {
  const made = createToolSet(declared, "simulation");
  if (made === undefined) throw new Error("no tools");
  return made;
};
const render = (output: z.ZodType | undefined, value: unknown) =>
  set({ tool: { description: "x", ...(output && { output }) } })
    .find("tool")
    ?.render(value).value;

describe("the schemas of tools", () => {
  test("have only the author's titles, and do not allow unknown arguments", () => {
    expect(set(tools).entries[0]).toEqual({
      name: "go",
      title: "Go",
      description: "Goes.",
      inputSchema: {
        additionalProperties: false,
        properties: {
          to: { description: "Where to", enum: ["north", "south"], type: "string" },
          steps: { default: 1, minimum: 1, type: "integer" },
        },
        required: ["to"],
        type: "object",
      },
      outputSchema: {
        properties: { seen: { items: { type: "string" }, type: "array" } },
        required: ["seen"],
        type: "object",
      },
      icons: null,
      annotations: null,
      meta: { fastmcp: { tags: [] } },
      execution: null,
    });
  });

  test("wrap a result that is not an object, and have no output schema without a declaration", () => {
    const [, look, shout] = set(tools).entries;
    expect(look?.outputSchema).toMatchObject({
      properties: { result: { type: "string" } },
      "x-fastmcp-wrap-result": true,
    });
    expect(shout).toMatchObject({ outputSchema: null, inputSchema: { properties: {}, type: "object" } });
  });

  test("name the field that has no JSON form", () => {
    const input = z.object({ at: z.date() });
    expect(() => defineContract({ name: "a", tools: { go: { description: "x", input } } }).schemas()).toThrow(/go\.at/);
  });

  test("are part of the contract's schemas", async () => {
    const base = { name: "a", action: z.object({}), observation: z.object({}) };
    const [bare, tooled] = [defineContract(base), defineContract({ ...base, tools })];
    expect(bare.schemas()).not.toHaveProperty("tools");
    expect(tooled.schemas().tools?.map(({ name }) => name)).toEqual(["go", "look", "shout"]);
    expect((await bare.fingerprint()).hash).not.toBe((await tooled.fingerprint()).hash);
  });
});

describe("a result", () => {
  test.each([
    [z.int(), 5, "5", { result: 5 }],
    [z.string(), "héllo", "héllo", { result: "héllo" }],
    [z.string(), "", "", { result: "" }],
    [z.array(z.int()), [1, 2], "[1,2]", { result: [1, 2] }],
    [z.object({ a: z.int() }), { a: 1 }, '{"a":1}', { a: 1 }],
    [z.record(z.string(), z.int()), { a: 1 }, '{"a":1}', { a: 1 }],
    [undefined, { a: 1 }, '{"a":1}', { a: 1 }],
    [undefined, true, "true", { result: true }],
  ])("%# is rendered as text, as structured content and as data", (output, value, text, structured) => {
    const rendered = render(output, value);
    expect(rendered?.content).toEqual([{ type: "text", text, annotations: null, meta: null }]);
    expect(rendered?.structured_content).toEqual(structured);
    expect(rendered?.data).toEqual(value);
    const wraps = "result" in structured;
    expect(rendered?.meta).toEqual(wraps ? { fastmcp: { wrap_result: true } } : null);
  });

  test("that is null, undefined or an empty list has no text", () => {
    for (const [output, value] of [
      [z.null(), null],
      [undefined, undefined],
      [z.array(z.int()), []],
    ] as const) {
      expect(render(output, value)?.content).toEqual([]);
    }
    expect(render(undefined, undefined)).toMatchObject({ data: null, structured_content: { result: null } });
  });

  test("with NaN and infinities has null in its data, and their names in its text", () => {
    const output = z.object({ v: z.array(z.number()), note: z.string() });
    const rendered = render(output, { v: [1, Number.NaN, -Infinity], note: "NaN" });
    expect(rendered?.data).toEqual({ v: [1, null, null], note: "NaN" });
    expect(rendered?.content[0]?.text).toBe('{"v":[1,NaN,-Infinity],"note":"NaN"}');
  });

  test("with bytes has them as base64", () => {
    const rendered = render(z.object({ data: bytes() }), { data: new Uint8Array([0, 1, 2]) });
    expect(rendered?.content[0]?.text).toBe('{"data":"AAEC"}');
    expect(JSON.parse(JSON.stringify(rendered))).toMatchObject({ data: { data: "AAEC" } });
  });

  test("that does not fit the declared type is an error with its path", () => {
    expect(() => render(z.int(), "x")).toThrow(/tool\.result: .*found "x"/);
    expect(() => render(z.object({ a: z.int() }), { a: 1, b: 2 })).toThrow(/tool\.b/);
    expect(() => render(undefined, { f: () => 1 })).toThrow(/has no JSON form/);
    expect(render(z.looseObject({ a: z.int() }), { a: 1, b: 2 })?.data).toEqual({ a: 1, b: 2 });
  });
});
