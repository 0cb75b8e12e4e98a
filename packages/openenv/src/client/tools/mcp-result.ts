import { ConnectionError, TOOL_ERROR_TYPES, ToolError, type ToolErrorType } from "../../errors.js";
import type { JsonObject } from "../../protocol/messages.js";
import { isObject } from "../../util/is-object.js";
import type { StepResult } from "../result.js";

/** A tool as an agent is told of it. */
export interface ToolInfo {
  name: string;
  description: string;
  /** JSON Schema of the arguments. */
  inputSchema: JsonObject;
}

/** What a call gave. Outside simulation it earns nothing and ends nothing. */
export interface ToolCallResult<D = unknown> {
  /** What the tool returned. */
  data: D;
  /** The same for a language model. */
  text: string;
  reward: number | boolean | null;
  done: boolean;
  metadata: JsonObject;
}

type Earned = Pick<StepResult, "reward" | "done" | "metadata">;
const NOTHING: Earned = { reward: null, done: false, metadata: {} };

/** A tool gave no result. As a step it may have earned a reward all the same, and ended the episode. */
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

/** Servers spell the schema in two ways. @throws ConnectionError PROTOCOL_ERROR when this is no list of tools. */
export function toToolInfos(tools: unknown): ToolInfo[] {
  if (!Array.isArray(tools)) {
    throw new ConnectionError("PROTOCOL_ERROR", "The server's answer has no list of tools.");
  }
  return tools.filter(isObject).map(({ name, description, inputSchema, input_schema }) => ({
    name: String(name),
    description: typeof description === "string" ? description : "",
    inputSchema: (inputSchema ?? input_schema ?? { type: "object" }) as JsonObject,
  }));
}

/** One that is not known says no more than that the tool failed. */
export function toErrorType(given: unknown): ToolErrorType {
  return TOOL_ERROR_TYPES.find((type) => type === given) ?? "execution_error";
}

function toText(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value ?? null);
}
