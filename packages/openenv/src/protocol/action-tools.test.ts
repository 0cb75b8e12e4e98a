import { describe, expect, test } from "vitest";
import * as z from "zod";
import { defineContract } from "../index.js";
import { toActionCall, toActionTools } from "./action-tools.js";
import type { JsonObject } from "./messages.js";

const schemaOf = (action: z.ZodType<Record<string, unknown>, Record<string, unknown>>): JsonObject =>
  defineContract({ name: "a_env", action: action as z.ZodObject, observation: z.object({}) }).schemas().action;
const summaries = (action: JsonObject, options?: Parameters<typeof toActionTools>[1]) =>
  toActionTools(action, options).map(({ summary }) => summary);
const point = z.object({ x: z.int(), y: z.int() }).meta({ id: "ToolPoint" });

describe("the tools of an action", () => {
  test("are one whose arguments are the action, if it is an object", () => {
    const action = schemaOf(z.object({ to: point }).describe("Moves."));
    expect(toActionTools(action)).toEqual([
      {
        summary: {
          name: "step",
          description: "Moves.",
          input_schema: {
            $defs: action["$defs"],
            additionalProperties: false,
            properties: { to: { $ref: "#/$defs/ToolPoint" } },
            required: ["to"],
            type: "object",
          },
        },
        fixed: {},
      },
    ]);
  });

  test("are one for each variant of a discriminated union, without the discriminator and unused definitions", () => {
    const action = schemaOf(
      z.discriminatedUnion("kind", [
        z.object({ kind: z.literal("move-to"), to: point }).describe("Moves there."),
        z.object({ kind: z.literal("left click") }),
        z.object({ kind: z.literal("close"), code: z.int() }),
        z.object({ kind: z.literal(["up", "down"]) }),
      ]),
    );
    const tools = toActionTools(action);
    expect(tools.map(({ summary, fixed }) => [summary.name, fixed])).toEqual([
      ["move-to", { kind: "move-to" }],
      ["left_click", { kind: "left click" }],
      ["close_action", { kind: "close" }],
      ["up", {}],
    ]);
    const [move, click, , both] = tools.map(({ summary }) => summary);
    expect(move).toMatchObject({ description: "Moves there.", input_schema: { required: ["to"] } });
    expect(Object.keys(move?.input_schema["properties"] as object)).toEqual(["to"]);
    expect(Object.keys(move?.input_schema["$defs"] as object)).toEqual(["ToolPoint"]);
    expect(click).toMatchObject({ description: 'Takes the action "left click" in the environment.' });
    expect(click?.input_schema).toEqual({ additionalProperties: false, properties: {}, type: "object" });
    expect(both?.input_schema).toMatchObject({ properties: { kind: { enum: ["up", "down"] } }, required: ["kind"] });
  });

  test("are named by the classes of a plain union, and by no name that is taken", () => {
    const text = z.object({ text: z.string() }).meta({ title: "TypeText" });
    const action = schemaOf(z.union([text, z.object({ path: z.array(z.int()) })]));
    expect(summaries(action, { taken: ["path"] }).map(({ name }) => name)).toEqual(["type_text", "path_2"]);
  });

  test("are one when a foreign schema is not a union of objects", () => {
    const action = { anyOf: [{ type: "string" }, { type: "object", properties: { a: {} } }], title: "Odd" };
    expect(summaries(action)).toMatchObject([{ name: "step" }]);
    expect(summaries({ $ref: "#/$defs/Self", $defs: { Self: { $ref: "#/$defs/Self" } } })).toHaveLength(1);
  });
});

test("an action is a call of the tool that fits it", () => {
  const tagged = summaries(
    schemaOf(
      z.discriminatedUnion("kind", [
        z.object({ kind: z.literal("close"), code: z.int() }),
        z.object({ kind: z.literal("wait_2"), code: z.int().optional() }),
      ]),
    ),
  );
  expect(toActionCall({ kind: "close", code: 1 }, tagged)).toEqual({ name: "close_action", given: { code: 1 } });
  expect(toActionCall({ kind: "wait_2" }, tagged)).toEqual({ name: "wait_2", given: {} });
  expect(toActionCall({ kind: "other" }, tagged)).toEqual({ name: "step", given: { kind: "other" } });
  const plain = summaries(schemaOf(z.union([z.object({ text: z.string() }), z.object({ path: z.string() })])));
  expect(toActionCall({ path: "a" }, plain)).toEqual({ name: "path", given: { path: "a" } });
  expect(toActionCall({ text: "a" }, summaries(schemaOf(z.object({ text: z.string() }))))).toMatchObject({
    name: "step",
  });
  expect(toActionCall({ text: "a" }, [])).toEqual({ name: "step", given: { text: "a" } });
});
