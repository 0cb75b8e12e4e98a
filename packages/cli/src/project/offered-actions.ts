import { isObject } from "openenv-ts/internal";
import type { JsonObject, SchemaBody, ToolSummary } from "openenv-ts/protocol";

/** JSON Schema of what a step takes: the environment's own action, if it has one, or a call of one of its tools. */
export function offeredActions({ action, tools = [] }: Pick<SchemaBody, "action" | "tools">): JsonObject {
  if (tools.length === 0) return action;
  const { $defs, ...own } = action;
  const calls = tools.map((tool, index) => renderCall(tool, keyOf(index)));
  const inputs = tools.map(({ input_schema }, index) => [keyOf(index), movePointers(input_schema, keyOf(index))]);
  return {
    anyOf: isCall(action) ? calls : [own, ...calls],
    $defs: { ...(isObject($defs) && !isCall(action) && $defs), ...Object.fromEntries(inputs) },
  };
}

/** The action of an environment without one of its own fits any tool there might be. */
export function isCall({ properties }: JsonObject): boolean {
  const type = isObject(properties) ? properties["type"] : undefined;
  return isObject(type) && type["const"] === "call_tool";
}

function keyOf(index: number): string {
  return `tool_input_${index}`;
}

function renderCall({ name, description }: ToolSummary, key: string): JsonObject {
  const properties = {
    type: { const: "call_tool" },
    tool_name: { const: name },
    arguments: { $ref: `#/$defs/${key}` },
  };
  return { description, type: "object", properties, required: Object.keys(properties), additionalProperties: false };
}

/** A schema that was whole is now a definition of another. */
function movePointers(schema: unknown, key: string): unknown {
  if (Array.isArray(schema)) return schema.map((item) => movePointers(item, key));
  if (!isObject(schema)) return schema;
  const moved = Object.entries(schema).map(([name, value]) => {
    const isPointer = name === "$ref" && typeof value === "string" && value.startsWith("#");
    return [name, isPointer ? `#/$defs/${key}${value.slice(1)}` : movePointers(value, key)];
  });
  return Object.fromEntries(moved) as JsonObject;
}
