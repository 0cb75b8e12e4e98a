import { setTimeout as sleep } from "node:timers/promises";

export interface ChatOptions {
  /** Base URL of the API; `/chat/completions` is added. */
  endpoint: string;
  model: string;
  key?: string | undefined;
  /** Time limit of a response in milliseconds; default 60,000. */
  timeoutMs?: number;
}

/** A tool call of a model; `arguments` should be JSON, but a model may send anything. */
export interface WantedCall {
  id: string;
  type: "function";
  function: { name: string; arguments: string };
}

export type ModelMessage =
  | { role: "system" | "user"; content: string }
  | AssistantMessage
  | { role: "tool"; tool_call_id: string; content: string };

export interface AssistantMessage {
  role: "assistant";
  content: string | null;
  tool_calls?: WantedCall[];
}

/** The description of a tool for chat completions. */
export interface ChatTool {
  type: "function";
  function: { name: string; description: string; parameters: object };
}

export interface ModelRequest {
  messages: readonly ModelMessage[];
  tools?: readonly ChatTool[];
}

const TRIES = 3;
const PAUSE_MS = 250;

/** Requests the next message of a model. @throws after three attempts for temporary errors (429, 5xx), else at once. */
export async function complete(options: ChatOptions, request: ModelRequest): Promise<AssistantMessage> {
  const url = `${options.endpoint.replace(/\/+$/, "")}/chat/completions`;
  for (let attempt = 1; ; attempt++) {
    const response = await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json", ...(options.key && { authorization: `Bearer ${options.key}` }) },
      body: JSON.stringify({ model: options.model, ...request }),
      signal: AbortSignal.timeout(options.timeoutMs ?? 60_000),
    });
    if (response.ok) return readMessage(await response.json());
    const reason = `the endpoint answered ${response.status}: ${(await response.text()).slice(0, 200)}`;
    const mayPass = response.status === 429 || response.status >= 500;
    if (!mayPass || attempt === TRIES) throw new Error(reason);
    await sleep(PAUSE_MS * 2 ** attempt);
  }
}

function readMessage(body: unknown): AssistantMessage {
  const message = (body as { choices?: { message?: Partial<AssistantMessage> }[] } | null)?.choices?.[0]?.message;
  const { content, tool_calls } = message ?? {};
  if (Array.isArray(tool_calls) && tool_calls.length > 0) {
    return { role: "assistant", content: content ?? null, tool_calls };
  }
  if (typeof content === "string") return { role: "assistant", content };
  throw new Error("the response of the endpoint has neither text nor tool calls at choices[0].message");
}
