import type { EnvironmentDefinition } from "../../environment/environment.js";
import type { EnvironmentHost } from "../../environment/environment-host.js";
import { loadPart } from "../../util/load-part.js";
import type { Log } from "../../util/log.js";
import type { IsolationConfig } from "../config/config.js";

/** The part of openenv-ts that isolates sessions. */
export interface IsolationPart {
  startHost: typeof startHost;
}

/**
 * Runs each session of the environment in a worker thread or a child process. Resolves when the first isolate (or the
 * whole pool) is ready.
 * @throws ConfigError when the module cannot be loaded in an isolate or does not export this environment, or when this
 * installation lacks the part.
 */
export async function startHost(
  definition: EnvironmentDefinition,
  config: IsolationConfig,
  log: Log,
): Promise<EnvironmentHost> {
  const load = () => import("#parts/isolation" as string);
  const part = await loadPart<IsolationPart>("isolation", load, `ISOLATION "${config.kind}"`);
  return part.startHost(definition, config, log);
}
