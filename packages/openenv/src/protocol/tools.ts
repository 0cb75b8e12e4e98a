import { type Fault, TOOL_FAULTS, type ToolErrorType } from "../errors.js";
import { FAULT_OF } from "../faults.js";
import { isObject } from "../util/is-object.js";
import type { JsonObject, WireCode } from "./messages.js";

/** Names that tools cannot have: agents must not control the episode itself. */
export const RESERVED_TOOL_NAMES: readonly string[] = ["reset", "step", "state", "close"];

/** The name of the tool that takes an action of the environment. */
export const ACTION_TOOL = "step";

/** The key of `_meta` with the kind of failure in the result of a failed MCP call. */
export const ERROR_TYPE_META = "openenv/error_type";
/** The key of `_meta` with who caused the failure of a call. */
export const FAULT_META = "openenv/fault";

/** The error of a failed call: `error` of an observation, `data` of a JSON-RPC error. */
export interface ToolErrorBody {
  error_type: ToolErrorType;
  message: string;
  /**
   * The code of the same failure of a step: the environment has lost the session, the call has twice ended the process that
   * executed it, or a plugin has refused it.
   */
  code?: WireCode;
}

/** False for a call that failed through no fault of the agent: it must not give a reward, not even zero. */
export function isAgentsDoing({ error }: { error: { error_type: string } | null | undefined }): boolean {
  return error == null || error.error_type === "invalid_args" || error.error_type === "tool_not_found";
}

/**
 * The result of a successful call. `data` is the tool's value; a value that is not an object is wrapped for
 * `structured_content`.
 */
export interface ToolResult {
  content: { type: "text"; text: string; annotations: null; meta: null }[];
  structured_content: JsonObject;
  meta: { fastmcp: { wrap_result: true } } | null;
  data: unknown;
  is_error: false;
}

/** A part of what an agent reads. */
export type ContentBlock = { type: "text"; text: string } | { type: "image"; data: string; mimeType: string };

/** The outcome of a call: either `result` or `error` is null. */
export type ToolOutcome = { result: ToolResult; error: null } | { result: null; error: ToolErrorBody };

/** The result of an agent's call, which may have been a step. */
export interface AgentResult extends Omit<ToolResult, "content"> {
  content: (ContentBlock & { annotations: null; meta: null })[];
}

/** The outcome of an agent's call. `infrastructure` is a step that failed through no fault of the agent. */
export type AgentOutcome =
  | { result: AgentResult; error: null }
  | { result: null; error: ToolErrorBody }
  | { result: null; error: { error_type: "episode_finished"; message: string; code?: undefined } }
  | {
      result: null;
      error: { error_type: "infrastructure"; message: string; fault: Fault; code?: ToolErrorBody["code"] };
    };

/** Who caused the failure of a call. */
export function toolFault(error: NonNullable<AgentOutcome["error"]>): Fault {
  if (error.error_type === "infrastructure") return error.fault;
  if (error.code !== undefined) return FAULT_OF[error.code];
  return error.error_type === "episode_finished" ? "client" : TOOL_FAULTS[error.error_type];
}

/** A tool in the answer to a `list_tools` step. */
export interface ToolSummary {
  name: string;
  description: string;
  input_schema: JsonObject;
}

/** A tool in the answer to `tools/list`, in the format of the Python package. */
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

/** True for the two actions that every environment with tools accepts in a step. */
export function isToolAction(action: JsonObject): boolean {
  const type = action?.["type"];
  return type === "call_tool" || type === "list_tools";
}

/** The error for a tool call without `type`, which is otherwise parsed as the contract's own action. */
export const MISSING_TOOL_TYPE = 'Field required: a tool call has "type": "call_tool"';

/** True for a tool call without its `type`. */
export function lacksToolType(action: unknown): boolean {
  return isObject(action) && "tool_name" in action && !("type" in action);
}
