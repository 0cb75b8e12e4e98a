import { setTimeout as sleep } from "node:timers/promises";
import type { Policy } from "./play.js";

export interface ChatOptions {
  /** Base URL of the API; `/chat/completions` is added. */
  endpoint: string;
  model: string;
  key?: string | undefined;
  /** Milliseconds that one answer may take; default 60 000. */
  timeoutMs?: number;
}

interface ChatMessage {
  role: "system" | "user" | "assistant";
  content: string;
}

const TRIES = 3;
const PAUSE_MS = 250;
const INSTRUCTION =
  "You play a game. Think as long as you like and end your answer with your guess in square brackets.";

/**
 * Asks a language model for each move and keeps the conversation of one game.
 * The policy throws when the endpoint fails: after three tries for what may pass (429, 5xx), else at once.
 */
export function chatPolicy(options: ChatOptions): Policy {
  const messages: ChatMessage[] = [{ role: "system", content: INSTRUCTION }];
  return async (news) => {
    messages.push({ role: "user", content: news.trim() });
    const content = await complete(options, messages);
    messages.push({ role: "assistant", content });
    // A model names words it rejects as well; what it decided for comes last.
    return /\[\w+\](?!.*\[\w+\])/s.exec(content)?.[0] ?? content;
  };
}

async function complete(options: ChatOptions, messages: readonly ChatMessage[]): Promise<string> {
  const url = `${options.endpoint.replace(/\/+$/, "")}/chat/completions`;
  for (let attempt = 1; ; attempt++) {
    const response = await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json", ...(options.key && { authorization: `Bearer ${options.key}` }) },
      body: JSON.stringify({ model: options.model, messages }),
      signal: AbortSignal.timeout(options.timeoutMs ?? 60_000),
    });
    if (response.ok) return readContent(await response.json());
    const reason = `the endpoint answered ${response.status}: ${(await response.text()).slice(0, 200)}`;
    const mayPass = response.status === 429 || response.status >= 500;
    if (!mayPass || attempt === TRIES) throw new Error(reason);
    await sleep(PAUSE_MS * 2 ** attempt);
  }
}

function readContent(body: unknown): string {
  const content = (body as { choices?: { message?: { content?: unknown } }[] } | null)?.choices?.[0]?.message?.content;
  if (typeof content === "string") return content;
  throw new Error("the endpoint's answer has no text at choices[0].message.content");
}
