import * as z from "zod";
import type { PublishedTool } from "../../protocol/http.js";
import type { JsonObject } from "../../protocol/messages.js";
import type { ToolEntry, ToolSummary } from "../../protocol/tools.js";
import { normaliseFields } from "../json-schema/normalise-schema.js";
import { toJsonSchema } from "../json-schema/to-json-schema.js";
import type { ToolDeclaration } from "./tools.js";

/** The published forms of a tool. */
export interface RenderedTool {
  entry: ToolEntry;
  summary: ToolSummary;
  published: PublishedTool;
}

/** @throws TypeError naming the field when a type has no JSON form. */
export function renderTool(name: string, { description, title, input, output }: ToolDeclaration): RenderedTool {
  const inputSchema = renderInput(input ?? z.object({}), name);
  const outputSchema = output === undefined ? null : renderOutput(output, name);
  const rest = { icons: null, annotations: null, meta: { fastmcp: { tags: [] } }, execution: null };
  const summary = { name, description, input_schema: inputSchema };
  return {
    entry: { name, title: title ?? null, description, inputSchema, outputSchema, ...rest },
    summary,
    published: outputSchema === null ? summary : { ...summary, output_schema: outputSchema },
  };
}

const GIVEN_SCHEMA = "openenv-given-schema";

/** An input with this JSON Schema, which another server has declared. */
export function inputOf(schema: JsonObject): z.ZodObject {
  return z.looseObject({}).meta({ [GIVEN_SCHEMA]: schema });
}

/** The JSON Schema of {@link inputOf}; undefined for an input that is declared here. */
export function givenSchema(input: z.ZodObject): JsonObject | undefined {
  return input.meta()?.[GIVEN_SCHEMA] as JsonObject | undefined;
}

function renderInput(input: z.ZodObject, name: string): JsonObject {
  const given = givenSchema(input);
  if (given !== undefined) return given;
  return { ...renderObject(input, { name, io: "input" }), additionalProperties: false };
}

/** True when results are wrapped in an object: every result that is not declared as an object. */
export function wrapsResult(output: z.ZodType): boolean {
  const { type } = output._zod.def;
  return type !== "object" && type !== "record";
}

function renderOutput(output: z.ZodType, name: string): JsonObject {
  if (output instanceof z.ZodObject) return renderObject(output, { name, io: "output" });
  const wrapped = renderObject(z.object({ result: output }), { name, io: "output" });
  if (wrapsResult(output)) return { ...wrapped, "x-fastmcp-wrap-result": true };
  const { result } = wrapped["properties"] as { result: JsonObject };
  return "$defs" in wrapped ? { $defs: wrapped["$defs"], ...result } : result;
}

function renderObject(schema: z.ZodObject, { name, io }: { name: string; io: "input" | "output" }): JsonObject {
  const raw = toJsonSchema(schema, io);
  const rendered: JsonObject = { ...normaliseFields(raw, name, (field) => field), type: "object" };
  const others = raw["additionalProperties"];
  if (others !== undefined) rendered["additionalProperties"] = isEmpty(others) ? true : others;
  return rendered;
}

function isEmpty(schema: unknown): boolean {
  return typeof schema === "object" && schema !== null && Object.keys(schema).length === 0;
}
