import { isObject } from "openenv-ts/internal";

/** A message of a conversation: its author, and text or parts. */
export interface ConversationMessage {
  who: string;
  content: unknown;
}

const WHO = ["role", "sender", "author", "from", "sender_id"] as const;
const CONTENT = ["content", "text", "message"] as const;

/** The messages of a conversation in the usual forms; undefined for any other value. */
export function chatOf(value: unknown): ConversationMessage[] | undefined {
  if (!Array.isArray(value) || value.length === 0) return undefined;
  const messages: ConversationMessage[] = [];
  for (const item of value) {
    if (!isObject(item)) return undefined;
    const who = WHO.find((name) => ["string", "number"].includes(typeof item[name]));
    const content = CONTENT.find((name) => typeof item[name] === "string" || Array.isArray(item[name]));
    if (who === undefined || content === undefined) return undefined;
    const calls = item["tool_calls"];
    const [text] = [item[content]];
    messages.push({
      who: who === "sender_id" ? `sender ${item[who]}` : String(item[who]),
      content: Array.isArray(calls) && calls.length > 0 ? { [content]: text, tool_calls: calls } : text,
    });
  }
  return messages;
}

/** The value of a part of MCP or of a chat API: its text, or a data URL; undefined for any other object. */
export function partOf(value: object): unknown {
  const { type, text, data, mimeType, image_url: url } = value as Record<string, unknown>;
  if (type === "text" && typeof text === "string") return text;
  if ((type === "image" || type === "audio") && typeof data === "string" && typeof mimeType === "string") {
    return `data:${mimeType};base64,${data}`;
  }
  const source = isObject(url) ? url["url"] : undefined;
  return type === "image_url" && typeof source === "string" ? source : undefined;
}
