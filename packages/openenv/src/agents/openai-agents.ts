import type { JsonObject } from "../protocol/messages.js";
import type { AgentEpisode } from "./episode.js";

/** A function tool of the OpenAI Agents SDK. */
export interface OpenAIFunctionTool {
  type: "function";
  name: string;
  description: string;
  parameters: ObjectSchema;
  strict: false;
  invoke(context: unknown, given: string, details?: { signal?: AbortSignal }): Promise<string>;
  needsApproval(): Promise<boolean>;
  isEnabled(): Promise<boolean>;
}

interface ObjectSchema {
  type: "object";
  properties: Record<string, JsonObject>;
  required: string[];
  additionalProperties: boolean;
}

/** Options of an `Agent` of the OpenAI Agents SDK (package `@openai/agents`). */
export interface OpenAIAgentOptions {
  tools: OpenAIFunctionTool[];
  /** Ends the run at the end of the episode, with the answer to the last call as the final output. */
  toolUseBehavior: () => FinalOutput;
}

type FinalOutput =
  | { isFinalOutput: false; isInterrupted: undefined }
  | { isFinalOutput: true; isInterrupted: undefined; finalOutput: string };

/**
 * Converts the tools of a session for the OpenAI Agents SDK. A run rejects with the SDK's `ToolCallError`, whose `error`
 * is the failure of the episode.
 * @example const agent = new Agent({ name: "Player", model, ...toOpenAIAgent(episode) });
 */
export function toOpenAIAgent(episode: AgentEpisode): OpenAIAgentOptions {
  const tools = episode.tools.map(
    ({ name, description, inputSchema }): OpenAIFunctionTool => ({
      type: "function",
      name,
      description,
      parameters: toObjectSchema(inputSchema),
      strict: false,
      invoke: (_context, given, details) => episode.call(name, given, { signal: details?.signal }),
      needsApproval: async () => false,
      isEnabled: async () => true,
    }),
  );
  const toolUseBehavior = (): FinalOutput =>
    episode.isOver()
      ? { isFinalOutput: true, isInterrupted: undefined, finalOutput: episode.calls.at(-1)?.text ?? "" }
      : { isFinalOutput: false, isInterrupted: undefined };
  return { tools, toolUseBehavior };
}

/** The SDK requires four members. */
function toObjectSchema(schema: JsonObject): ObjectSchema {
  return { properties: {}, required: [], additionalProperties: true, ...schema, type: "object" };
}
