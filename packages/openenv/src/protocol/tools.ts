import type { ToolErrorType } from "../errors.js";
import { isObject } from "../util/is-object.js";
import type { JsonObject } from "./messages.js";

/** Names that are no tool's: agents must not reach the controls of an episode. */
export const RESERVED_TOOL_NAMES: readonly string[] = ["reset", "step", "state", "close"];

/** Under this key of `_meta` a failed call of MCP says of which kind the failure is. */
export const ERROR_TYPE_META = "openenv/error_type";

/** What a failed call tells: in an observation as `error`, in JSON-RPC as `data` of the error. */
export interface ToolErrorBody {
  error_type: ToolErrorType;
  message: string;
}

/** What a call that worked gives. `data` is the tool's own value; one that is no object is wrapped for `structured_content`. */
export interface ToolResult {
  content: { type: "text"; text: string; annotations: null; meta: null }[];
  structured_content: JsonObject;
  meta: { fastmcp: { wrap_result: true } } | null;
  data: unknown;
  is_error: false;
}

/** What came of a call: one of the two is null. */
export type ToolOutcome = { result: ToolResult; error: null } | { result: null; error: ToolErrorBody };

/** A tool in the answer to a `list_tools` step. */
export interface ToolSummary {
  name: string;
  description: string;
  input_schema: JsonObject;
}

/** A tool in the answer to `tools/list`, in the reference's spelling. */
export interface ToolEntry {
  name: string;
  title: string | null;
  description: string;
  inputSchema: JsonObject;
  outputSchema: JsonObject | null;
  icons: null;
  annotations: null;
  meta: JsonObject | null;
  execution: null;
}

/** True for the two actions that every environment with tools takes in a step. */
export function isToolAction(action: JsonObject): boolean {
  const type = action?.["type"];
  return type === "call_tool" || type === "list_tools";
}

/** Why a call of a tool that does not say that it is one does not fit: without `type` it is read as the author's action. */
export const MISSING_TOOL_TYPE = 'Field required: a call of a tool has "type": "call_tool"';

/** True for a call of a tool without its `type`. */
export function lacksToolType(action: unknown): boolean {
  return isObject(action) && "tool_name" in action && !("type" in action);
}
