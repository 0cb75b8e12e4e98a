import { isObject } from "openenv-ts/internal";
import { isToolAction, type JsonObject, type SchemaBody, type WebInfo } from "openenv-ts/protocol";
import { useState } from "react";

/** The action that is being written: that of the environment, or the arguments of a tool. Each keeps its own text. */
export interface ActionDraft {
  /** Name of the tool; null for the action of the environment. */
  tool: string | null;
  /** The JSON Schema of `value`; undefined while it is not known. */
  schema: JsonObject | undefined;
  value: JsonObject;
  setTool(tool: string | null): void;
  setValue(value: JsonObject): void;
  /** Whether this server takes such an action: one of a file may be of another environment. */
  takes(action: JsonObject): boolean;
  /** Takes over an action of the wire. */
  use(action: JsonObject): void;
  /** `value` as an action of the wire. */
  toAction(value: JsonObject): JsonObject;
}

export function useDraft(info: WebInfo, schema: SchemaBody | undefined): ActionDraft {
  const tools = schema?.tools ?? [];
  const [chosen, setTool] = useState<string | null>();
  const [values, setValues] = useState<Record<string, JsonObject>>({});
  const first = info.tools_only ? (tools[0]?.name ?? null) : null;
  const isThere = (name: string | null): boolean =>
    name === null ? !info.tools_only : tools.some((declared) => declared.name === name);
  // The server may have come back without it.
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

/** No tool has an empty name. */
function keyOf(tool: string | null): string {
  return tool ?? "";
}

function toolSchema(schema: SchemaBody | undefined, tool: string): JsonObject | undefined {
  return schema?.tools?.find(({ name }) => name === tool)?.input_schema;
}
