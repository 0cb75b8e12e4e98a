import { isObject, isToolAction } from "openenv-ts/internal";
import type { JsonObject, SchemaBody, WebInfo } from "openenv-ts/protocol";
import { useState } from "react";

/**
 * The action that is being edited: the environment's own action, or the arguments of a tool. Each keeps its own text.
 */
export interface ActionDraft {
  /** Name of the tool; null for the environment's own action. */
  tool: string | null;
  /** The JSON Schema of `value`; undefined until it has loaded. */
  schema: JsonObject | undefined;
  value: JsonObject;
  setTool(tool: string | null): void;
  setValue(value: JsonObject): void;
  /** True when this server accepts the action: one from a file may be of another environment. */
  takes(action: JsonObject): boolean;
  /** Loads an action in wire format. */
  use(action: JsonObject): void;
  /** `value` as an action in wire format. */
  toAction(value: JsonObject): JsonObject;
}

export function useDraft(info: WebInfo, schema: SchemaBody | undefined): ActionDraft {
  const tools = schema?.tools ?? [];
  const [chosen, setTool] = useState<string | null>();
  const [values, setValues] = useState<Record<string, JsonObject>>({});
  const first = info.tools_only ? (tools[0]?.name ?? null) : null;
  const isThere = (name: string | null): boolean =>
    name === null ? !info.tools_only : tools.some((declared) => declared.name === name);
  // The server may have restarted without this tool.
  const tool = chosen !== undefined && isThere(chosen) ? chosen : first;
  const write = (name: string | null, value: JsonObject): void =>
    setValues((before) => ({ ...before, [keyOf(name)]: value }));
  return {
    tool,
    schema: tool === null ? (info.tools_only ? undefined : schema?.action) : toolSchema(schema, tool),
    value: values[keyOf(tool)] ?? EMPTY,
    setTool,
    setValue: (value) => write(tool, value),
    takes: (action) => isThere(toolOf(action)),
    use(action) {
      const name = toolOf(action);
      const given = action["arguments"];
      setTool(name);
      write(name, name === null ? action : isObject(given) ? given : EMPTY);
    },
    toAction: (value) => (tool === null ? value : { type: "call_tool", tool_name: tool, arguments: value }),
  };
}

const EMPTY: JsonObject = {};

function toolOf(action: JsonObject): string | null {
  return isToolAction(action) && typeof action["tool_name"] === "string" ? action["tool_name"] : null;
}

/** A tool name is never empty. */
function keyOf(tool: string | null): string {
  return tool ?? "";
}

function toolSchema(schema: SchemaBody | undefined, tool: string): JsonObject | undefined {
  return schema?.tools?.find(({ name }) => name === tool)?.input_schema;
}
