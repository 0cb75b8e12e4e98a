import { isObject } from "../util/is-object.js";
import { toActionTools } from "./action-tools.js";
import type { EpisodeTool } from "./episode.js";
import type { JsonObject } from "./messages.js";
import type { PublishedTool, SchemaBody } from "./published.js";

/** JSON Schema of the input of a step: the environment's action, if it has one, or a call of one of its tools. */
export function offeredActions({ action, tools = [] }: Pick<SchemaBody, "action" | "tools">): JsonObject {
  if (tools.length === 0) return action;
  const { $defs, ...own } = action;
  const calls = tools.map((tool, index) => renderCall(tool, keyOf(index)));
  const inputs = tools.map(({ input_schema }, index) => [keyOf(index), movePointers(input_schema, keyOf(index))]);
  const actions = (own["oneOf"] ?? own["anyOf"] ?? [own]) as JsonObject[];
  return {
    anyOf: isCall(action) ? calls : [...actions, ...calls],
    $defs: { ...(isObject($defs) && !isCall(action) && $defs), ...Object.fromEntries(inputs) },
  };
}

/** What an environment accepts in a step, as tools of a chat model: its tools, and those of its action, if it has one. */
export function offeredTools({ action, tools = [] }: Pick<SchemaBody, "action" | "tools">): EpisodeTool[] {
  const taken = tools.map(({ name }) => name);
  const actions = isCall(action) ? [] : toActionTools(action, { taken }).map(({ summary }) => summary);
  return [...tools, ...actions].map(({ name, description, input_schema: parameters }) => {
    return { type: "function", function: { name, description, parameters } };
  });
}

/** True for the default action of an environment that declares none: a call of any tool. */
export function isCall({ properties }: JsonObject): boolean {
  const type = isObject(properties) ? properties["type"] : undefined;
  return isObject(type) && type["const"] === "call_tool";
}

function keyOf(index: number): string {
  return `tool_input_${index}`;
}

function renderCall({ name, description }: PublishedTool, key: string): JsonObject {
  const properties = {
    type: { const: "call_tool" },
    tool_name: { const: name },
    arguments: { $ref: `#/$defs/${key}` },
  };
  return { description, type: "object", properties, required: Object.keys(properties), additionalProperties: false };
}

/** Rewrites the references of a schema that becomes a definition of another. */
function movePointers(schema: unknown, key: string): unknown {
  if (Array.isArray(schema)) return schema.map((item) => movePointers(item, key));
  if (!isObject(schema)) return schema;
  const moved = Object.entries(schema).map(([name, value]) => {
    const isPointer = name === "$ref" && typeof value === "string" && value.startsWith("#");
    return [name, isPointer ? `#/$defs/${key}${value.slice(1)}` : movePointers(value, key)];
  });
  return Object.fromEntries(moved) as JsonObject;
}
