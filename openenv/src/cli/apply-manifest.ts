import { DEFAULT_VERSION } from "../env/contract.js";
import type { EnvironmentDefinition } from "../env/environment.js";
import type { Manifest } from "../manifest/schema.js";

/** Sets the variables of a manifest where the process has none, for the server and the processes it starts. */
export function applyVariables({ variables }: Manifest): void {
  for (const [name, value] of Object.entries(variables)) process.env[name] ??= value;
}

/** Lets a server listen where the manifest says, unless it was told otherwise. */
export function applyPort({ port }: Manifest): void {
  process.env["PORT"] ||= String(port);
}

/** The environment with the version of its manifest, unless its contract says one. */
export function applyVersion(environment: EnvironmentDefinition, version: string | undefined): EnvironmentDefinition {
  const { contract } = environment;
  if (version === undefined || contract.version !== DEFAULT_VERSION) return environment;
  const fingerprint = async () => ({ ...(await contract.fingerprint()), version });
  return { ...environment, contract: { ...contract, version, fingerprint } };
}
