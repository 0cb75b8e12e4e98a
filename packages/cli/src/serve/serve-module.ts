import { existsSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { loadPicker } from "openenv-ts/internal";
import type { RunningServer, ServeOptions } from "openenv-ts/server";
import { loadModule } from "../project/load-environment.js";
import { loadPlugins } from "./load-plugins.js";

/** What `openenv serve` serves. */
export interface ServedModule {
  /** Module of the environment. */
  file: string;
  options: ServeOptions;
  /** Version of the manifest. */
  version: string | undefined;
  /** Modules of plugins. */
  plugins: string[];
}

/** Serves the environment of a module until a signal ends the process. */
export async function serveModule({ file, options, version, plugins }: ServedModule): Promise<RunningServer> {
  const { environment, url } = await loadModule(file);
  const { withVersion } = await loadPicker();
  const { serve } = await import("openenv-ts/server");
  const readmePath = environment.readme === undefined ? findNext(file, "README.md", "ENV_README_PATH") : undefined;
  const reportPath = findNext(file, REPORT_FILE, "ENV_REPORT_PATH");
  return await serve(version === undefined ? environment : withVersion(environment, version), {
    ...(readmePath && { readmePath }),
    ...(reportPath && { reportPath }),
    // Its factory is tried unless a variable says otherwise.
    ...(!process.env["TRY_FACTORY"]?.trim() && { tryFactory: true }),
    ...options,
    plugins: await loadPlugins(plugins),
    module: url,
    handleSignals: true,
  });
}

/** The report of `openenv validate --output` in an environment's folder that the page shows. */
const REPORT_FILE = "validation-report.json";

/** A file in the environment's folder, unless a variable names another. */
function findNext(file: string, name: string, variable: string): string | undefined {
  if (process.env[variable]?.trim()) return undefined;
  const folder = dirname(file);
  const path = join(basename(folder) === "server" ? dirname(folder) : folder, name);
  return existsSync(path) ? path : undefined;
}
