import { rng } from "openenv-ts";
import { isObject, sampleValue } from "openenv-ts/internal";
import type { JsonObject } from "openenv-ts/protocol";
import { type Choose, repeat, type World } from "./world.js";

/** The number of steps of an agent that solves nothing. */
const STEPS = 8;

/** Agents that do not look at the task; each call gives a new one. */
export function agents({ offered, accepts }: World): Record<string, () => Choose> {
  const sampled = (seed: number): JsonObject[] => sampleActions(offered, STEPS, seed);
  return {
    random: () => repeat(sampled(1)),
    empty: () => repeat(sampled(2).map((action) => rewriteStrings(action, "", accepts))),
    repeated: () => repeat(Array(STEPS).fill(sampleValue(offered))),
    copied: () => {
      const actions = sampled(3);
      return ({ step, last }) => actions[step] && rewriteStrings(actions[step], longestString(last.data), accepts);
    },
  };
}

/** The same actions in every run. */
export function sampleActions(offered: JsonObject, count: number, seed = 1): JsonObject[] {
  const random = rng(seed);
  return Array.from({ length: count }, () => sampleValue(offered, random) as JsonObject);
}

/** One action for each choice of the schema. */
export function variants(offered: JsonObject): JsonObject[] {
  const choices = (offered["anyOf"] ?? offered["oneOf"] ?? [offered]) as unknown[];
  return choices.filter(isObject).map((choice) => sampleValue({ ...choice, $defs: offered["$defs"] }) as JsonObject);
}

export function unique(actions: readonly JsonObject[]): JsonObject[] {
  return [...new Map(actions.map((action) => [JSON.stringify(action), action])).values()];
}

/** Replaces each string of the action, and for an empty `text` each number by 0, where the schema allows it. */
export function rewriteStrings(action: JsonObject, text: string, accepts: (action: JsonObject) => boolean): JsonObject {
  const copy = structuredClone(action);
  const visit = (at: JsonObject): void => {
    for (const [key, value] of Object.entries(at)) {
      if (isObject(value) || Array.isArray(value)) visit(value as JsonObject);
      else if (typeof value === "string" || (text === "" && typeof value === "number")) {
        at[key] = typeof value === "string" ? text : 0;
        if (!accepts(copy)) at[key] = value;
      }
    }
  };
  visit(copy);
  return copy;
}

function longestString(value: unknown): string {
  if (typeof value === "string") return value;
  if (typeof value !== "object" || value === null) return "";
  return Object.values(value)
    .map(longestString)
    .reduce((longest, text) => (text.length > longest.length ? text : longest), "");
}
