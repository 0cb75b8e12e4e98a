import { type ChatOptions, complete, type ModelMessage } from "../chat.js";
import type { GuessPolicy } from "./play.js";

const INSTRUCTION =
  "You play a game. Think as long as you like and end your answer with your guess in square brackets.";

/**
 * Asks a language model for each move and keeps the conversation of one game. The policy throws when the endpoint
 * fails: after three attempts for temporary errors (429, 5xx), else at once.
 */
export function chatPolicy(options: ChatOptions): GuessPolicy {
  const messages: ModelMessage[] = [{ role: "system", content: INSTRUCTION }];
  return async (news) => {
    messages.push({ role: "user", content: news.trim() });
    const answer = await complete(options, { messages });
    messages.push(answer);
    const content = answer.content ?? "";
    // A model may mention rejected words, too; its decision comes last.
    return /\[\w+\](?!.*\[\w+\])/s.exec(content)?.[0] ?? content;
  };
}
