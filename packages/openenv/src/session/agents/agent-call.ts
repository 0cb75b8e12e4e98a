import type { JsonObject } from "../../protocol/messages.js";
import type { AgentOutcome, ToolEntry, ToolErrorBody, ToolResult } from "../../protocol/tools.js";
import type { SessionCallOptions } from "../calls/call.js";
import type { ToolRequest } from "../calls/tool-call.js";
import type { Runtime } from "../runtime.js";
import type { Session } from "../session.js";
import { callStepTool, listStepTools, type StepToolFailure, type StepToolResult } from "./step-tools.js";

/** The tools of an agent, in a session or in general; undefined if there are none. */
export function listAgentTools(runtime: Runtime, session: Session | undefined): readonly ToolEntry[] | undefined {
  const { tools } = runtime;
  if (tools !== undefined && tools.entries.length > 0) return tools.entries;
  if (session?.progress.callsAreSteps !== true) return tools?.entries;
  const entry = { title: null, outputSchema: null, icons: null, annotations: null, meta: null, execution: null };
  return listStepTools(runtime).map(({ input_schema: inputSchema, ...tool }) => ({
    ...entry,
    ...tool,
    inputSchema,
  }));
}

/** A tool call of an agent: outside of steps, or a step if the creator of the session has chosen that. */
export function callAgentTool(
  session: Session,
  request: ToolRequest,
  options: SessionCallOptions,
): AgentOutcome | Promise<AgentOutcome> {
  if (!session.progress.callsAreSteps) return session.callTool(request, options);
  // The creator had the right to step, and has given the agent this part of it.
  return callStepTool(session, request, { ...options, orchestrator: true }).then((step) =>
    step.ok ? toOutcome(step) : { result: null, error: toError(step) },
  );
}

function toOutcome({ content, isError, observation }: StepToolResult): AgentOutcome {
  if (isError) return { result: null, error: observation["error"] as ToolErrorBody };
  // The result of a tool that the environment declares.
  const { tool_name, result } = observation;
  if (typeof tool_name === "string" && typeof result === "object") return { result: result as ToolResult, error: null };
  const blocks = content.map((block) => ({ ...block, annotations: null, meta: null }));
  const shown: JsonObject = observation;
  return {
    result: { content: blocks, structured_content: shown, data: shown, meta: null, is_error: false },
    error: null,
  };
}

const ERROR_TYPES = {
  unknown_tool: "tool_not_found",
  invalid_input: "invalid_args",
  episode_finished: "episode_finished",
} as const;

function toError({ reason, message, fault, error }: StepToolFailure): NonNullable<AgentOutcome["error"]> {
  if (reason !== "infrastructure") return { error_type: ERROR_TYPES[reason], message };
  const { code } = error ?? {};
  if (code === "STEP_CRASHED") return { error_type: reason, message: `${code}: ${message}`, fault, code };
  return { error_type: reason, message, fault, ...(code === "SESSION_LOST" && { code }) };
}
