import { isObject, rng, sampleValue } from "openenv-ts/internal";
import type { JsonObject } from "openenv-ts/protocol";
import type { Choose, World } from "./world.js";

/** The number of steps of an agent that solves nothing. */
const STEPS = 8;

/** Agents that do not look at the task; each call gives a new one. */
export function agents({ offered, accepts }: World): Record<string, () => Choose> {
  const limited = (choose: Choose): Choose => {
    return (turn) => (turn.step < STEPS ? choose(turn) : undefined);
  };
  const sampled = (seed: number): (() => JsonObject) => {
    const random = rng(seed);
    return () => sampleValue(offered, random) as JsonObject;
  };
  const simplest = sampleValue(offered) as JsonObject;
  return {
    random: () => {
      const next = sampled(1);
      return limited(next);
    },
    empty: () => {
      const next = sampled(2);
      return limited(() => rewriteStrings(next(), "", accepts));
    },
    repeated: () => limited(() => simplest),
    copied: () => {
      const next = sampled(3);
      return limited(({ last }) => rewriteStrings(next(), longestString(last.data), accepts));
    },
  };
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
