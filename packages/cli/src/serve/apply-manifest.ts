import type { Manifest } from "@openenv-ts/providers/manifest";

/** Sets the variables of a manifest that the process does not have, for the server and the processes it starts. */
export function applyVariables({ variables }: Manifest): void {
  for (const [name, value] of Object.entries(variables)) process.env[name] ??= value;
}

/** Sets PORT to the port of the command line, so that an environment can read it; else to that of the manifest if it is not set. */
export function applyPort({ port }: Manifest, given: number | undefined): void {
  process.env["PORT"] = String(given ?? (process.env["PORT"] || port));
}
