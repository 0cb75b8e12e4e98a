import { randomUUID } from "node:crypto";
import type { ServerResponse } from "node:http";
import { type ChatServer, sayStatus, sayText, startChatServer } from "./chat-server.js";

/** What the model does next: it calls a tool, or says something. */
export type Turn = { tool: string; arguments: object } | string;

export interface ScriptedModel extends AsyncDisposable {
  /** The value of `OPENAI_BASE_URL`. */
  readonly url: string;
  /** The results of the tool calls in the latest request, in the order of the calls. */
  readonly results: unknown[];
  /** The number of requests. */
  readonly asked: number;
}

/** A server with OpenAI's two APIs for conversations with tools. `play` returns the nth turn. */
export async function startScriptedModel(play: (nth: number) => Turn | Promise<Turn>): Promise<ScriptedModel> {
  let turns = 0;
  const server: ChatServer = await startChatServer(async (response, nth) => {
    // Inspect first asks a question of its own, without tools.
    const turn = server.requests[nth - 1]?.body["tools"] === undefined ? "Hello." : await play(++turns);
    if (server.requests[nth - 1]?.path?.endsWith("/responses")) sayItem(response, turn);
    else if (typeof turn === "string") sayText(response, turn);
    else sayText(response, null, { message: { tool_calls: [toToolCall(turn)] }, finish_reason: "tool_calls" });
  });
  return {
    url: server.url,
    get results() {
      const { messages = [], input = [] } = (server.requests.at(-1)?.body ?? {}) as unknown as Conversation;
      const ofTools = messages.filter(({ role }) => role === "tool").map(({ content }) => content);
      return [...ofTools, ...input.filter(({ type }) => type === "function_call_output").map(({ output }) => output)];
    },
    get asked() {
      return turns;
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

interface Conversation {
  messages?: { role: string; content: unknown }[];
  input?: { type?: string; output?: unknown }[];
}

function toToolCall({ tool, arguments: given }: Exclude<Turn, string>) {
  return { id: randomUUID(), type: "function", function: { name: tool, arguments: JSON.stringify(given) } };
}

/** Answers in the format of the responses API. */
function sayItem(response: ServerResponse, turn: Turn): void {
  const id = randomUUID();
  const item =
    typeof turn === "string"
      ? {
          type: "message",
          id,
          role: "assistant",
          status: "completed",
          content: [{ type: "output_text", text: turn, annotations: [] }],
        }
      : {
          type: "function_call",
          id,
          call_id: id,
          name: turn.tool,
          arguments: JSON.stringify(turn.arguments),
          status: "completed",
        };
  sayStatus(response, 200, {
    id,
    object: "response",
    created_at: 0,
    model: "scripted",
    status: "completed",
    output: [item],
    parallel_tool_calls: false,
    tool_choice: "auto",
    tools: [],
  });
}
