import type { Manifest } from "@openenv-ts/providers/manifest";

/** Sets the variables of a manifest where the process has none, for the server and the processes it starts. */
export function applyVariables({ variables }: Manifest): void {
  for (const [name, value] of Object.entries(variables)) process.env[name] ??= value;
}

/** Lets a server listen where the manifest says, unless it was told otherwise. */
export function applyPort({ port }: Manifest): void {
  process.env["PORT"] ||= String(port);
}
