import { ConnectionError, TOOL_ERROR_TYPES, ToolError, type ToolErrorType } from "../../errors.js";
import type { JsonObject } from "../../protocol/messages.js";
import { isObject } from "../../util/is-object.js";
import type { StepResult } from "../result.js";

/** The description of a tool for an agent. */
export interface ToolInfo {
  name: string;
  description: string;
  /** JSON Schema of the arguments. */
  inputSchema: JsonObject;
}

/** The result of a tool call. Outside simulation it has no reward and does not end the episode. */
export interface ToolCallResult<D = unknown> {
  /** What the tool returned. */
  data: D;
  /** The result as text, for a language model. */
  text: string;
  reward: number | boolean | null;
  done: boolean;
  metadata: JsonObject;
}

type Earned = Pick<StepResult, "reward" | "done" | "metadata">;
const NOTHING: Earned = { reward: null, done: false, metadata: {} };

/** The error of a tool without a result. As a step, the call may still have earned a reward or ended the episode. */
export class ToolCallError extends ToolError {
  readonly toolName: string;
  readonly reward: number | boolean | null;
  readonly done: boolean;

  constructor(toolName: string, { error_type, message }: Failure, { reward, done }: Earned = NOTHING) {
    super(error_type, message);
    this.toolName = toolName;
    this.reward = reward;
    this.done = done;
  }
}

interface Failure {
  error_type: ToolErrorType;
  message: string;
}

/** @throws ToolCallError for an error, ConnectionError PROTOCOL_ERROR when it has another shape. */
export function toToolCallResult(
  name: string,
  { result, error }: { result: unknown; error: unknown },
  { reward, done, metadata }: Earned = NOTHING,
): ToolCallResult {
  const earned = { reward, done, metadata };
  if (isObject(error)) {
    const message = typeof error["message"] === "string" ? error["message"] : `The tool "${name}" failed.`;
    throw new ToolCallError(name, { error_type: toErrorType(error["error_type"]), message }, earned);
  }
  if (!isObject(result) || !("data" in result)) return { data: result ?? null, text: toText(result), ...earned };
  const { data, content } = result;
  const texts = Array.isArray(content) ? content.filter(isObject).map(({ text }) => text) : [data];
  return {
    data,
    text: texts
      .filter((text) => text !== undefined)
      .map(toText)
      .join("\n"),
    ...earned,
  };
}

/** Reads a list of tools; servers use two names for the schema. @throws ConnectionError PROTOCOL_ERROR otherwise. */
export function toToolInfos(tools: unknown): ToolInfo[] {
  if (!Array.isArray(tools)) {
    throw new ConnectionError("PROTOCOL_ERROR", "The server's answer does not contain a list of tools.");
  }
  return tools.filter(isObject).map(({ name, description, inputSchema, input_schema }) => ({
    name: String(name),
    description: typeof description === "string" ? description : "",
    inputSchema: (inputSchema ?? input_schema ?? { type: "object" }) as JsonObject,
  }));
}

/** An unknown type counts as an execution error. */
export function toErrorType(given: unknown): ToolErrorType {
  return TOOL_ERROR_TYPES.find((type) => type === given) ?? "execution_error";
}

function toText(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value ?? null);
}
