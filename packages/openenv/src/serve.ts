import { loadRuntime } from "#parts/sockets";
import { type EnvironmentDefinition, isEnvironmentDefinition } from "./environment/environment.js";
import { HOST_MARK } from "./environment/environment-host.js";
import { ConfigError } from "./errors.js";
import { checkRuntime } from "./server/config/check-runtime.js";
import { readConfig } from "./server/config/config.js";
import { startInterruptibly } from "./server/lifecycle/signals.js";
import { findCluster, superviseWorkers } from "./server/parts/cluster.js";
import { serveHere } from "./server/serve.js";
import type { RunningServer, ServeOptions } from "./server/types.js";

/**
 * Serves an environment: WebSocket `/ws` and `/mcp`, and the HTTP routes. Resolves when the server listens. With more
 * than one worker, or with `supervise` or `heapMb`, this process only supervises workers, and each worker runs the same
 * program up to this call.
 * @throws ConfigError for an invalid option or variable, one that this runtime (Node, Bun or Deno) cannot keep, a port in
 * use, or a value that is not an environment.
 */
export async function serve(environment: EnvironmentDefinition, options: ServeOptions = {}): Promise<RunningServer> {
  if (options.handleSignals !== true) return start(environment, options);
  return startInterruptibly(() => start(environment, options));
}

async function start(environment: EnvironmentDefinition, options: ServeOptions): Promise<RunningServer> {
  if (!isEnvironmentDefinition(environment)) {
    throw new ConfigError("serve() needs what defineEnvironment(contract, factory) returns.");
  }
  if (HOST_MARK in globalThis) {
    throw new ConfigError(
      "The module of an isolated environment must not call serve(): move the call to another file.",
    );
  }
  if (process.env["OPENENV_WORKER_NUMBER"] !== undefined) {
    const cluster = await findCluster();
    const config = readConfig(environment, { ...options, handleSignals: false }, process.env);
    return serveHere(environment, { config, options, cluster });
  }
  const config = readConfig(environment, options, process.env);
  checkRuntime(config, (await loadRuntime()).name);
  if (config.workers === 1 && !config.supervise && config.heapMb === undefined)
    return serveHere(environment, { config, options });
  const { about: _about, ...server } = await superviseWorkers(config);
  return { ...server, environment, webInterface: config.webInterface };
}
