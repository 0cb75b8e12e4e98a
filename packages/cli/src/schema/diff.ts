import type { PublishedTool, SchemaBody } from "openenv-ts/protocol";
import { compareSchema, type FieldChange } from "./compare.js";

/** One change between two versions of a contract, from the view of a client that was built for the first version. */
export interface SchemaChange extends FieldChange {
  part: "action" | "observation" | "state" | "reset_observation" | "tools";
}

/**
 * Lists the changes between two responses of `GET /schema`. A change is breaking when the server may reject an action of
 * the old client, or may send something that the old client does not expect. Titles, descriptions and the values of
 * defaults are ignored, so that the same contract rendered by Python and by us is equal.
 */
export function diffSchemas(before: SchemaBody, after: SchemaBody): SchemaChange[] {
  const parts = PARTS.flatMap((part): SchemaChange[] => {
    const direction = part === "action" ? "sent" : "received";
    // A server without a separate schema for resets returns observations.
    const [old, next] = [before[part] ?? before.observation, after[part] ?? after.observation];
    return compareSchema(old, next, direction).map((change) => ({ part, ...change }));
  });
  return [...parts, ...diffTools(before.tools ?? [], after.tools)];
}

/** Servers of other implementations do not list tools in this response, so a missing list is ignored. */
function diffTools(before: readonly PublishedTool[], after: readonly PublishedTool[] | undefined): SchemaChange[] {
  if (after === undefined) return [];
  const part = "tools";
  const added = after.filter(({ name }) => !before.some((old) => old.name === name));
  return [
    ...before.flatMap(({ name, input_schema, output_schema }): SchemaChange[] => {
      const next = after.find((one) => one.name === name);
      if (next === undefined) return [{ part, path: name, breaking: true, message: `"${name}" was removed` }];
      const changes = compareSchema(input_schema, next.input_schema, "sent");
      // A result without a schema may be anything, so a change cannot be detected.
      if (output_schema && next.output_schema) {
        changes.push(...compareSchema(output_schema, next.output_schema, "received"));
      }
      return changes.map(({ path, ...change }) => ({ part, path: path === "" ? name : `${name}.${path}`, ...change }));
    }),
    ...added.map(({ name }) => ({ part, path: name, breaking: false, message: `"${name}" was added` }) as const),
  ];
}

const PARTS = ["action", "observation", "state", "reset_observation"] as const;
