import { compileActionCheck } from "../client/contract/generic.js";
import { type ChatEndpointOptions, type ChatMessage, createChatEndpoint } from "../environment/chat-endpoint.js";
import type { Policy, PolicyInput } from "../environment/policy.js";
import type { ValidationIssue } from "../errors.js";
import type { JsonObject } from "../protocol/messages.js";
import { isObject } from "../util/is-object.js";

/** Where the memory of a policy has what was written around the last action. */
const TEXT_KEY = "assistant_text";

/** Number of invalid answers after which an episode fails. */
const TRIES = 3;
/** Number of braces at either end of an answer that are tried as the start or end of an object. */
const MAX_PLACES = 20;

export interface ModelPolicyOptions extends ChatEndpointOptions {
  actionSchema: JsonObject;
  /** Description of the environment; part of the system message. */
  description?: string | undefined;
  /** Instructions at the beginning of the system message. */
  systemPrompt?: string | undefined;
}

/**
 * Requests each action from a language model and keeps the conversation of one episode. An answer that does not match
 * the schema is returned to the model with the reason and does not become a step.
 * @throws RangeError for an invalid option.
 */
export async function createModelPolicy(options: ModelPolicyOptions): Promise<Policy> {
  const { actionSchema } = options;
  const ask = createChatEndpoint(options);
  const check = await compileCheck(actionSchema);
  return async ({ memory, observation, reward, step }) => {
    const messages = (memory["messages"] ??= [systemMessage(options)]) as ChatMessage[];
    messages.push({ role: "user", content: renderInput({ observation, reward, step }) });
    for (let attempt = 0; attempt < TRIES; attempt++) {
      const content = await ask(messages);
      messages.push({ role: "assistant", content });
      const { action, text } = findObject(content);
      const issues = action === undefined ? [] : check(action);
      if (action !== undefined && issues.length === 0) {
        memory[TEXT_KEY] = text;
        return action;
      }
      const wrong = issues.map(({ loc, msg }) => `${loc.join(".") || "action"}: ${msg}`).join("; ");
      const what = action === undefined ? "Your answer has no JSON object." : `Your action is not valid: ${wrong}.`;
      messages.push({ role: "user", content: `${what} Answer with one JSON object that matches the schema.` });
    }
    throw new Error(`the model did not return a valid action in ${TRIES} answers`);
  };
}

/** With several kinds of action, reports the problems for the kind with the fewest. */
async function compileCheck({
  oneOf,
  anyOf = oneOf,
  ...schema
}: JsonObject): Promise<(action: unknown) => ValidationIssue[]> {
  const kinds = Array.isArray(anyOf) ? (anyOf as JsonObject[]).map((kind) => ({ ...schema, ...kind })) : [schema];
  const checks = await Promise.all(kinds.map(compileActionCheck));
  return (action) =>
    checks.map((check) => check(action)).reduce((best, next) => (next.length < best.length ? next : best));
}

function systemMessage({ systemPrompt, description, actionSchema }: ModelPolicyOptions): ChatMessage {
  const rules =
    "You act in an environment. Maximize your total reward. Each message has your observation; answer with your next " +
    `action as one JSON object and nothing else. It must match this JSON Schema: ${JSON.stringify(actionSchema)}`;
  const parts = [systemPrompt, description && `The environment: ${description}`, rules];
  return { role: "system", content: parts.filter(Boolean).join("\n\n") };
}

function renderInput({ observation, reward, step }: Pick<PolicyInput, "observation" | "reward" | "step">): string {
  const earned = step === 0 || reward === null ? "" : `\nYour last action earned ${reward}.`;
  return `${JSON.stringify(observation)}${earned}`;
}

/** The first JSON object in an answer, and the text around it without a code fence. */
function findObject(text: string): { action?: JsonObject; text: string } {
  for (const start of placesOf("{", text)) {
    for (const end of placesOf("}", text).reverse()) {
      if (end <= start) break;
      try {
        const value: unknown = JSON.parse(text.slice(start, end + 1));
        if (isObject(value)) return { action: value, text: around(text.slice(0, start), text.slice(end + 1)) };
      } catch {
        // The range is not JSON: try a shorter range, then a later start.
      }
    }
  }
  return { text };
}

function around(before: string, after: string): string {
  const parts = [before.replace(/```\w*\s*$/, ""), after.replace(/^\s*```/, "")].map((part) => part.trim());
  return parts.filter(Boolean).join("\n");
}

/** The positions of a brace; in a text with many, only the first and the last ones, to limit the attempts. */
function placesOf(brace: string, text: string): number[] {
  const places: number[] = [];
  for (let at = text.indexOf(brace); at >= 0; at = text.indexOf(brace, at + 1)) places.push(at);
  return places.length <= 2 * MAX_PLACES ? places : [...places.slice(0, MAX_PLACES), ...places.slice(-MAX_PLACES)];
}
