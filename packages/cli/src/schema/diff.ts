import type { PublishedTool, SchemaBody } from "openenv-ts/protocol";
import { compareSchema, type FieldChange } from "./compare.js";

/** One change between two versions of a contract, seen by a client that was built for the first. */
export interface SchemaChange extends FieldChange {
  part: "action" | "observation" | "state" | "reset_observation" | "tools";
}

/**
 * Lists what changed between two answers of `GET /schema`. It breaks when the old client's actions are no longer all
 * taken, or when it can be sent something that it does not expect. Titles, descriptions and the values of defaults are
 * no changes, so the same contract rendered by Python and by us is equal.
 */
export function diffSchemas(before: SchemaBody, after: SchemaBody): SchemaChange[] {
  const parts = PARTS.flatMap((part): SchemaChange[] => {
    const direction = part === "action" ? "sent" : "received";
    // A server that shows no schema of its own for resets shows observations.
    const [old, next] = [before[part] ?? before.observation, after[part] ?? after.observation];
    return compareSchema(old, next, direction).map((change) => ({ part, ...change }));
  });
  return [...parts, ...diffTools(before.tools ?? [], after.tools)];
}

/** A server of another implementation tells no tools here, which does not mean that it has none. */
function diffTools(before: readonly PublishedTool[], after: readonly PublishedTool[] | undefined): SchemaChange[] {
  if (after === undefined) return [];
  const part = "tools";
  const added = after.filter(({ name }) => !before.some((old) => old.name === name));
  return [
    ...before.flatMap(({ name, input_schema, output_schema }): SchemaChange[] => {
      const next = after.find((one) => one.name === name);
      if (next === undefined) return [{ part, path: name, breaking: true, message: `"${name}" was removed` }];
      const changes = compareSchema(input_schema, next.input_schema, "sent");
      // A result without a schema may be anything; whether it changed is not known.
      if (output_schema && next.output_schema) {
        changes.push(...compareSchema(output_schema, next.output_schema, "received"));
      }
      return changes.map(({ path, ...change }) => ({ part, path: path === "" ? name : `${name}.${path}`, ...change }));
    }),
    ...added.map(({ name }) => ({ part, path: name, breaking: false, message: `"${name}" was added` }) as const),
  ];
}

const PARTS = ["action", "observation", "state", "reset_observation"] as const;
