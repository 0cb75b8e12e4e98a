import { ContractMismatchError } from "../errors.js";
import type { SchemaBody } from "../protocol/http.js";
import { diffSchemas, type SchemaChange } from "../protocol/schema-diff.js";
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
  const theirs = { ...schema, reset_observation: schema.reset_observation ?? schema.observation };
  // A Python server publishes the base state when the app was not told the state class, and sends the fields anyway.
  if (isBaseState(theirs.state)) theirs.state = ours.state;
  const broken = diffSchemas(ours, theirs).filter((change) => change.breaking);
  if (broken.length === 0) return;
  const fields = broken.map(({ part, path }) => (path ? `${part}.${path}` : part));
  throw new ContractMismatchError(
    `The server at ${url}${name === undefined ? "" : ` (${name})`} does not keep the contract "${contract.name}": ` +
      `${renderChanges(broken)}. Use the server's version of the contract, or pass { check: false }.`,
    fields,
  );
}

/** Each once: what is wrong with an observation mostly is with that of a reset too. */
function renderChanges(changes: readonly SchemaChange[]): string {
  const told = changes.filter(
    ({ part, path, message }) =>
      part !== "reset_observation" ||
      !changes.some((other) => other.part === "observation" && other.path === path && other.message === message),
  );
  return told.map((change) => `${placeOf(change)}: ${change.message}`).join("; ");
}

/** The message has the path below it. */
function placeOf({ part, path }: SchemaChange): string {
  const end = path.indexOf(".");
  return part === "tools" && end > 0 ? `tools.${path.slice(0, end)}` : part;
}

function isBaseState(state: SchemaBody["state"]): boolean {
  const fields = Object.keys(state["properties"] ?? {});
  return fields.every((field) => field === "episode_id" || field === "step_count");
}
