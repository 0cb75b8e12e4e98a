import { resolve } from "node:path";
import { sampleValue } from "../../contract/json-schema/sample-value.js";
import type { Policy } from "../../environment/policy.js";
import { ConfigError } from "../../errors.js";
import type { JsonObject } from "../../protocol/messages.js";
import { importModule } from "../project/load-environment.js";

/** Actions drawn from the schema. */
export const randomPolicy: Policy = ({ actionSchema, random }) => sampleValue(actionSchema, random) as JsonObject;

/** The default export of a module. @throws ConfigError when it does not load or exports no function. */
export async function loadPolicy(file: string): Promise<Policy> {
  const { exports } = await importModule(resolve(file));
  const policy = exports["default"];
  if (typeof policy !== "function") {
    throw new ConfigError(`${file} has no policy: export default a function (turn) => action.`);
  }
  return policy as Policy;
}
