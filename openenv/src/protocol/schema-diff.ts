import { type Difference, differences } from "./schema-compare.js";
import type { SchemaBody } from "./http.js";

/** One change between two versions of a contract, seen by a client that was built for the first. */
export interface SchemaChange {
  part: "action" | "observation" | "state" | "reset_observation";
  /** `points[].x`; empty for the part itself. */
  path: string;
  /** True when a client of the first version fails, or can misread what it gets. */
  breaking: boolean;
  message: string;
}

/**
 * Lists what changed. What the old client sends must still be taken (action); what it is sent must still be what it
 * expects (all others). Titles, descriptions and defaults are no changes.
 */
export function diffSchemas(before: SchemaBody, after: SchemaBody): SchemaChange[] {
  return PARTS.flatMap((part) => {
    const [old, next] = [before[part] ?? before.observation, after[part] ?? after.observation];
    const sent = part === "action";
    const breaking = sent
      ? differences(old, next, { direction: "input", old: "narrow" })
      : differences(next, old, { direction: "output", old: "wide" });
    const harmless = sent
      ? differences(next, old, { direction: "input", old: "wide" })
      : differences(old, next, { direction: "output", old: "narrow" });
    return merge(breaking, harmless).map((change) => ({ part, ...change }));
  });
}

const PARTS = ["action", "observation", "state", "reset_observation"] as const;
