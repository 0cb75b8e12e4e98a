import type { Manifest } from "@openenv-ts/providers/manifest";

/** Sets the variables of a manifest that the process does not have, for the server and the processes it starts. */
export function applyVariables({ variables }: Manifest): void {
  for (const [name, value] of Object.entries(variables)) process.env[name] ??= value;
}

/** Sets PORT to the port of the manifest, unless PORT is set. */
export function applyPort({ port }: Manifest): void {
  process.env["PORT"] ||= String(port);
}
