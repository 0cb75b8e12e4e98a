import type { SchemaBody } from "./http.js";
import { type Change, compareSchema } from "./schema-compare.js";

/** One change between two versions of a contract, seen by a client that was built for the first. */
export interface SchemaChange extends Change {
  part: "action" | "observation" | "state" | "reset_observation";
}

/**
 * Lists what changed between two answers of `GET /schema`. It breaks when the old client's actions are no longer all
 * taken, or when it can be sent something that it does not expect. Titles, descriptions and the values of defaults are
 * no changes, so the same contract rendered by Python and by us is equal.
 */
export function diffSchemas(before: SchemaBody, after: SchemaBody): SchemaChange[] {
  return PARTS.flatMap((part) => {
    const direction = part === "action" ? "sent" : "received";
    // A server that shows no schema of its own for resets shows observations.
    const [old, next] = [before[part] ?? before.observation, after[part] ?? after.observation];
    return compareSchema(old, next, direction).map((change) => ({ part, ...change }));
  });
}

const PARTS = ["action", "observation", "state", "reset_observation"] as const;
