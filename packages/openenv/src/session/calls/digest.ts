import type { Environment } from "../../environment/environment.js";
import type { JsonObject } from "../../protocol/messages.js";
import { canonicalJson } from "../../util/canonical-json.js";
import { sha256 } from "../../util/text/sha256.js";

/**
 * Identifies the state of an environment: what it was taken from, a colon, and the SHA-256 of its canonical JSON. Equal
 * for equal states, across sessions and machines. Without `stateKey` and `snapshot` it identifies the observation.
 */
export async function digestState(environment: Environment, observation: JsonObject): Promise<string> {
  if (environment.stateKey !== undefined) return digest("state_key", await environment.stateKey());
  if (environment.snapshot !== undefined) return digest("snapshot", await environment.snapshot());
  return digest("observation", observation);
}

async function digest(source: string, value: unknown): Promise<string> {
  return `${source}:${await sha256(canonicalJson(value))}`;
}
