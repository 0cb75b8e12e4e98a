import { isAgentsDoing, type ToolCall, type ToolTransition } from "../../contract/tools/tools.js";
import type { Transition } from "../../environment/environment.js";
import type { ToolSet } from "../../environment/tools/tool-set.js";
import type { ToolOutcome } from "../../protocol/tools.js";
import type { ToolRequest } from "./tool-call.js";

/** What a `list_tools` step gives. */
export function listTools({ summaries }: ToolSet): Transition {
  return { observation: { tools: summaries }, reward: 0 };
}

/** What a `call_tool` step gives, with what the environment has to say about the call. */
export function toTransition({ name }: ToolRequest, { result, error }: ToolOutcome, more: ToolTransition): Transition {
  // An agent's own fault earns nothing.
  const { reward = isAgentsDoing({ error }) ? 0 : null } = more;
  return { ...more, reward, observation: { tool_name: name, result, error } };
}

/** The call as the environment is told of it. */
export function toToolCall({ name, given }: ToolRequest, { result, error }: ToolOutcome): ToolCall {
  return { name, arguments: given, result: result?.data, error: error ?? undefined };
}
