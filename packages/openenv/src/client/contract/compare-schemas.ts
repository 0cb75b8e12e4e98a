import { ContractMismatchError } from "../../errors.js";
import type { SchemaBody } from "../../protocol/http.js";
import { type BrokenField, brokenFields } from "../../protocol/schema/broken-fields.js";
import type { ClientContract } from "./contract.js";

/** A server, as it answered. */
interface KnownServer {
  url: string;
  /** What its environment is called; undefined when it does not tell. */
  name: string | undefined;
  schema: SchemaBody;
}

/** @throws ContractMismatchError naming the fields of `contract` that the server breaks. */
export function compareSchemas(contract: ClientContract, { url, name, schema }: KnownServer): void {
  const ours = contract.schemas();
  const theirs = { ...schema };
  // A Python server publishes the base state when the app was not told the state class, and sends the fields anyway.
  if (isBaseState(theirs.state)) theirs.state = ours.state;
  const broken = findBroken(ours, theirs);
  if (broken.length === 0) return;
  const problems = new Set(broken.map(({ place, message }) => `${place}: ${message}`));
  // What is wrong with an observation mostly is with that of a reset too.
  for (const problem of problems) problems.delete(`reset_${problem}`);
  throw new ContractMismatchError(
    `The server at ${url}${name === undefined ? "" : ` (${name})`} does not keep the contract "${contract.name}": ` +
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
    // A server that shows no schema of its own for resets shows observations.
    const [old, next] = [ours[place] ?? ours.observation, theirs[place] ?? theirs.observation];
    return at(place, brokenFields(old, next, place === "action" ? "sent" : "received"));
  });
  // A server of another implementation lists no tools here, which does not mean that it has none.
  if (theirs.tools === undefined) return parts;
  const tools = (ours.tools ?? []).flatMap(({ name, input_schema, output_schema }) => {
    const next = theirs.tools?.find((tool) => tool.name === name);
    if (next === undefined) return at("tools", [{ path: name, message: `"${name}" was removed` }]);
    const input = brokenFields(input_schema, next.input_schema, "sent");
    // A result without a schema may be anything; whether it changed is not known.
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
