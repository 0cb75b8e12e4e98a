import { sampleValue } from "../contract/json-schema/sample-value.js";
import type { JsonObject } from "../protocol/messages.js";
import type { ToolSummary } from "../protocol/tools.js";
import { isObject } from "../util/is-object.js";
import type { Rng } from "../util/rng.js";
import { rng } from "../util/rng.js";

const SEED = 7;

/** Actions that fit the schema, always the same; calls of the tools in turn where there is nothing else to do. */
export function sampleActions(action: JsonObject, tools: readonly ToolSummary[], count: number): JsonObject[] {
  const random = rng(SEED);
  return Array.from({ length: count }, (_, nth) => {
    const tool = onlyCallsTools(action) ? tools[nth % tools.length] : undefined;
    return tool === undefined ? (sampleValue(action, random) as JsonObject) : sampleCall(tool, random);
  });
}

export function sampleCall({ name, input_schema }: ToolSummary, random: Rng): JsonObject {
  return { type: "call_tool", tool_name: name, arguments: sampleValue(input_schema, random) };
}

/** True for the schema of the action that calls a tool: what the tool takes is not in it. */
export function onlyCallsTools({ properties }: JsonObject): boolean {
  return isObject(properties) && "tool_name" in properties && "arguments" in properties;
}
