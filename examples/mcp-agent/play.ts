import { type McpToolClient, ToolCallError } from "openenv-ts/client";
import type { AssistantMessage, ChatTool, ModelMessage, WantedCall } from "../chat.js";

/** Returns the next message for a conversation. */
export type ToolPolicy = (messages: readonly ModelMessage[], tools: readonly ChatTool[]) => Promise<AssistantMessage>;

export interface ToolEpisode {
  seed: number;
  calls: string[];
  /** Sum of the rewards of all calls. */
  reward: number;
  /** False when the agent stopped before the end. */
  done: boolean;
}

export interface PlayOptions {
  seed: number;
  /** Maximum number of messages of the policy. */
  maxTurns: number;
}

const INSTRUCTION = "Use the tools to solve the task. When you are done, say so without calling a tool.";

/**
 * Plays one episode: calls the tools that the policy requests, and returns the results to it.
 * @throws the errors of the policy and the connection: an interrupted episode has no reward, not a reward of 0.
 */
export async function playEpisode(
  client: McpToolClient,
  policy: ToolPolicy,
  { seed, maxTurns }: PlayOptions,
): Promise<ToolEpisode> {
  const { observation } = await client.reset({ seed });
  const tools = (await client.listTools()).map(toChatTool);
  const messages: ModelMessage[] = [
    { role: "system", content: INSTRUCTION },
    {
      role: "user",
      content: typeof observation["task"] === "string" ? observation["task"] : JSON.stringify(observation),
    },
  ];
  const episode: ToolEpisode = { seed, calls: [], reward: 0, done: false };
  for (let turn = 0; turn < maxTurns && !episode.done; turn++) {
    const answer = await policy(messages, tools);
    messages.push(answer);
    if (answer.tool_calls === undefined) break;
    for (const wanted of answer.tool_calls) {
      if (episode.done) break;
      messages.push({ role: "tool", tool_call_id: wanted.id, content: await call(client, wanted, episode) });
    }
  }
  return episode;
}

/** Errors of the model are returned to it, so that it can correct them. Other errors end the episode. */
async function call(client: McpToolClient, { function: wanted }: WantedCall, episode: ToolEpisode): Promise<string> {
  episode.calls.push(wanted.name);
  let given: unknown;
  try {
    given = JSON.parse(wanted.arguments || "{}");
  } catch {
    return "The arguments are not JSON.";
  }
  if (typeof given !== "object" || given === null || Array.isArray(given))
    return "The arguments are not a JSON object.";
  try {
    const { text, reward, done } = await client.callTool(wanted.name, given as Record<string, unknown>);
    episode.reward += Number(reward ?? 0);
    episode.done = done;
    return text;
  } catch (error) {
    if (!(error instanceof ToolCallError) || error.reward === null) throw error;
    episode.reward += Number(error.reward);
    episode.done = error.done;
    return error.message;
  }
}

function toChatTool({
  name,
  description,
  inputSchema,
}: Awaited<ReturnType<McpToolClient["listTools"]>>[number]): ChatTool {
  return { type: "function", function: { name, description, parameters: inputSchema } };
}
