import { EnvironmentError } from "../../errors.js";
import { canonicalJson } from "../../util/canonical-json.js";
import type { ChatModel } from "../chat-endpoint.js";

/**
 * A model whose answers are recorded: messages that were asked before get the recorded answer, others are asked and
 * recorded. A simulated user then answers alike in every run, and tests need no model. `answers` may be a Map.
 * Without a model, messages without a recorded answer reject with an EnvironmentError.
 * @example const user = recordedModel(new Map(recorded), askUser);
 */
export function recordedModel(
  answers: { get(messages: string): string | undefined; set(messages: string, answer: string): unknown },
  model?: ChatModel,
): ChatModel {
  return async (messages, signal) => {
    const key = canonicalJson(messages);
    const known = answers.get(key);
    if (known !== undefined) return known;
    if (model === undefined) {
      throw new EnvironmentError("these messages have no recorded answer: record one with a model, and keep it");
    }
    const answer = await model(messages, signal);
    answers.set(key, answer);
    return answer;
  };
}
