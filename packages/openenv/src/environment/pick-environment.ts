import { DEFAULT_VERSION } from "../contract/contract.js";
import { ConfigError } from "../errors.js";
import { type EnvironmentDefinition, isEnvironmentDefinition } from "./environment.js";

/**
 * The environment that a module exports: the default export, or the only other export that is an environment.
 * @throws ConfigError when the module exports none or several; `name` is the name of the module in the message.
 */
export function pickEnvironment(module: Record<string, unknown>, name: string): EnvironmentDefinition {
  if (isEnvironmentDefinition(module["default"])) return module["default"];
  const found = Object.entries(module).filter(([, value]) => isEnvironmentDefinition(value));
  const [first] = found;
  if (found.length === 1 && first) return first[1] as EnvironmentDefinition;
  if (found.length === 0) {
    throw new ConfigError(
      `${name} exports no environment; add: export default defineEnvironment(contract, () => new MyEnvironment())`,
    );
  }
  const names = found.map(([key]) => key).join(", ");
  throw new ConfigError(`${name} exports several environments (${names}); make one of them the default export.`);
}

/** The environment with the version of its manifest, unless its contract has one. */
export function withVersion(environment: EnvironmentDefinition, version: string): EnvironmentDefinition {
  const { contract } = environment;
  if (contract.version !== DEFAULT_VERSION) return environment;
  const fingerprint = async () => ({ ...(await contract.fingerprint()), version });
  return { ...environment, contract: { ...contract, version, fingerprint } };
}
