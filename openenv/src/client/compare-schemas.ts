import { ContractMismatchError } from "../errors.js";
import type { SchemaBody } from "../protocol/http.js";
import { diffSchemas } from "../protocol/schema-diff.js";
import type { ClientContract } from "./contract.js";

/** @throws ContractMismatchError naming the fields of `contract` that a server with these schemas breaks. */
export function compareSchemas(contract: ClientContract, schema: SchemaBody): void {
  const ours = contract.schemas();
  const theirs = { ...schema, reset_observation: schema.reset_observation ?? schema.observation };
  // A Python server publishes the base state when the app was not told the state class, and sends the fields anyway.
  if (isBaseState(theirs.state)) theirs.state = ours.state;
  const broken = diffSchemas(ours, theirs).filter((change) => change.breaking);
  if (broken.length === 0) return;
  const fields = broken.map(({ part, path }) => (path ? `${part}.${path}` : part));
  throw new ContractMismatchError(
    `The server does not keep the contract "${contract.name}": ${broken.map(({ message }) => message).join("; ")}. ` +
      "Use the server's version of the contract, or pass { check: false }.",
    fields,
  );
}

function isBaseState(state: SchemaBody["state"]): boolean {
  const fields = Object.keys(state["properties"] ?? {});
  return fields.every((field) => field === "episode_id" || field === "step_count");
}
