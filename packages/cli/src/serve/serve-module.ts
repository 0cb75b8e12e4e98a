import { existsSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { EnvironmentDefinition } from "openenv-ts";
import { loadContract } from "openenv-ts/internal";
import type { RunningServer, ServeOptions } from "openenv-ts/server";
import { loadModule } from "../project/load-environment.js";

/** Serves the environment of one module until a signal ends the process; `version` is that of its manifest. */
export async function serveModule(
  file: string,
  options: ServeOptions,
  version: string | undefined,
): Promise<RunningServer> {
  const { environment, url } = await loadModule(file);
  const { serve } = await import("openenv-ts/server");
  const readmePath = environment.readme === undefined ? findReadme(file) : undefined;
  return await serve(await applyVersion(environment, version), {
    ...(readmePath && { readmePath }),
    ...options,
    module: url,
    handleSignals: true,
  });
}

/** The README of the environment's folder, unless a variable names another. */
function findReadme(file: string): string | undefined {
  if (process.env["ENV_README_PATH"]?.trim()) return undefined;
  const folder = dirname(file);
  const path = join(basename(folder) === "server" ? dirname(folder) : folder, "README.md");
  return existsSync(path) ? path : undefined;
}

/** The environment with the version of its manifest, unless its contract says one. */
async function applyVersion(
  environment: EnvironmentDefinition,
  version: string | undefined,
): Promise<EnvironmentDefinition> {
  const { contract } = environment;
  if (version === undefined) return environment;
  const { DEFAULT_VERSION } = await loadContract();
  if (contract.version !== DEFAULT_VERSION) return environment;
  const fingerprint = async () => ({ ...(await contract.fingerprint()), version });
  return { ...environment, contract: { ...contract, version, fingerprint } };
}
