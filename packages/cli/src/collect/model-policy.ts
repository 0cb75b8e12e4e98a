import {
  type ChatEndpointOptions,
  type ChatMessage,
  createChatEndpoint,
  type Policy,
  type PolicyInput,
} from "openenv-ts";
import { compileActionCheck, EnvironmentError, isObject, type ValidationIssue } from "openenv-ts/internal";
import type { JsonObject } from "openenv-ts/protocol";

/** Answers without an action that fits after which an episode has failed. */
const TRIES = 3;
/** Braces at either end of an answer that an object may begin or end with. */
const MAX_PLACES = 20;

export interface ModelPolicyOptions extends ChatEndpointOptions {
  actionSchema: JsonObject;
  /** What the environment says about itself; part of the system message. */
  description?: string | undefined;
  /** The author's own instructions, at the beginning of the system message. */
  systemPrompt?: string | undefined;
}

/**
 * Asks a language model for each action and keeps the conversation of one episode. An answer that does not fit the
 * schema is returned to the model with the reason; no step is made of it.
 * @throws RangeError for an option that cannot work.
 */
export async function createModelPolicy(options: ModelPolicyOptions): Promise<Policy> {
  const { actionSchema } = options;
  const ask = createChatEndpoint(options);
  const check = await compileCheck(actionSchema);
  return async ({ memory, observation, reward, step }) => {
    const messages = (memory["messages"] ??= [systemMessage(options)]) as ChatMessage[];
    messages.push({ role: "user", content: tell({ observation, reward, step }) });
    for (let attempt = 0; attempt < TRIES; attempt++) {
      const content = await ask(messages);
      messages.push({ role: "assistant", content });
      const action = findObject(content);
      const issues = action === undefined ? [] : check(action);
      if (action !== undefined && issues.length === 0) return action;
      const wrong = issues.map(({ loc, msg }) => `${loc.join(".")}: ${msg}`).join("; ");
      const what = action === undefined ? "There is no JSON object in this." : `This does not fit: ${wrong}.`;
      messages.push({ role: "user", content: `${what} Answer with one JSON object that fits the schema.` });
    }
    throw new EnvironmentError(`the model gave no action that fits the schema in ${TRIES} answers`);
  };
}

/** Of several kinds of action, what is wrong is held against the one that was nearly met. */
async function compileCheck({ anyOf, ...schema }: JsonObject): Promise<(action: unknown) => ValidationIssue[]> {
  const kinds = Array.isArray(anyOf) ? (anyOf as JsonObject[]).map((kind) => ({ ...schema, ...kind })) : [schema];
  const checks = await Promise.all(kinds.map(compileActionCheck));
  return (action) =>
    checks.map((check) => check(action)).reduce((best, next) => (next.length < best.length ? next : best));
}

function systemMessage({ systemPrompt, description, actionSchema }: ModelPolicyOptions): ChatMessage {
  const rules =
    "You act in an environment and want as much reward as you can get. You are told what you observe; answer with your " +
    `next action as one JSON object and nothing else. It has to fit this JSON Schema: ${JSON.stringify(actionSchema)}`;
  const parts = [systemPrompt, description && `The environment: ${description}`, rules];
  return { role: "system", content: parts.filter(Boolean).join("\n\n") };
}

function tell({ observation, reward, step }: Pick<PolicyInput, "observation" | "reward" | "step">): string {
  const earned = step === 0 || reward === null ? "" : `\nYour last action earned ${reward}.`;
  return `${JSON.stringify(observation)}${earned}`;
}

/** The first object of an answer that may explain itself, or put it into a fence. */
function findObject(text: string): JsonObject | undefined {
  for (const start of placesOf("{", text)) {
    for (const end of placesOf("}", text).reverse()) {
      if (end <= start) break;
      try {
        const value: unknown = JSON.parse(text.slice(start, end + 1));
        if (isObject(value)) return value;
      } catch {
        // Shorter, then further on.
      }
    }
  }
  return undefined;
}

/** Of a text with many the first ones and the last: it would take for ever to try all. */
function placesOf(brace: string, text: string): number[] {
  const places: number[] = [];
  for (let at = text.indexOf(brace); at >= 0; at = text.indexOf(brace, at + 1)) places.push(at);
  return places.length <= 2 * MAX_PLACES ? places : [...places.slice(0, MAX_PLACES), ...places.slice(-MAX_PLACES)];
}
