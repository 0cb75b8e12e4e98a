import { ContractMismatchError } from "../../errors.js";
import type { SchemaBody } from "../../protocol/published.js";
import { type BrokenField, brokenFields } from "../../protocol/schema/broken-fields.js";
import type { ClientContract } from "./contract.js";

/** What a server published about its environment. */
interface KnownServer {
  url: string;
  /** The name of its environment; undefined when it does not publish one. */
  name: string | undefined;
  schema: SchemaBody;
}

/** @throws ContractMismatchError naming the fields of `contract` that the server does not match. */
export function compareSchemas(contract: ClientContract, { url, name, schema }: KnownServer): void {
  const ours = contract.schemas();
  const theirs = { ...schema };
  // A Python server whose app does not declare the state class publishes the base state, and still sends all fields.
  if (isBaseState(theirs.state)) theirs.state = ours.state;
  const broken = findBroken(ours, theirs);
  if (broken.length === 0) return;
  const problems = new Set(broken.map(({ place, message }) => `${place}: ${message}`));
  // Steps and resets usually share the observation: a problem is reported once.
  for (const problem of problems) problems.delete(`reset_${problem}`);
  throw new ContractMismatchError(
    `The server at ${url}${name === undefined ? "" : ` (${name})`} does not match the contract "${contract.name}": ` +
      `${[...problems].join("; ")}. Use the server's version of the contract, or pass { check: false }.`,
    broken.map(({ place, path }) => (path ? `${place}.${path}` : place)),
  );
}

interface Broken extends BrokenField {
  /** `action`, or a tool: `tools.search`. */
  place: string;
}

function findBroken(ours: SchemaBody, theirs: SchemaBody): Broken[] {
  const parts = (["action", "observation", "state", "reset_observation"] as const).flatMap((place) => {
    // Without a separate schema for resets, the schema of observations applies.
    const [old, next] = [ours[place] ?? ours.observation, theirs[place] ?? theirs.observation];
    return at(place, brokenFields(old, next, place === "action" ? "sent" : "received"));
  });
  // Other implementations do not list tools here, even if they have some.
  if (theirs.tools === undefined) return parts;
  const tools = (ours.tools ?? []).flatMap(({ name, input_schema, output_schema }) => {
    const next = theirs.tools?.find((tool) => tool.name === name);
    if (next === undefined) return at("tools", [{ path: name, message: `"${name}" was removed` }]);
    const input = brokenFields(input_schema, next.input_schema, "sent");
    // Without a schema, the result can be anything: there is nothing to compare.
    const output = output_schema && next.output_schema && brokenFields(output_schema, next.output_schema, "received");
    return at(`tools.${name}`, [...input, ...(output ?? [])]);
  });
  return [...parts, ...tools];
}

function at(place: string, fields: BrokenField[]): Broken[] {
  return fields.map((field) => ({ ...field, place }));
}

function isBaseState(state: SchemaBody["state"]): boolean {
  const fields = Object.keys(state["properties"] ?? {});
  return fields.every((field) => field === "episode_id" || field === "step_count");
}
