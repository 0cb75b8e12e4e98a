import type { EnvironmentDefinition } from "./environment/environment.js";
import { ConfigError } from "./errors.js";
import { readConfig } from "./server/config.js";
import { startInterruptibly } from "./server/lifecycle/signals.js";
import { serveHere } from "./server/serve.js";
import type { RunningServer, ServeOptions } from "./server/types.js";
import { ISOLATE_MARK } from "./session/isolation/isolate-mark.js";

/**
 * Serves an environment: WebSocket `/ws` and `/mcp`, and the HTTP routes. Resolves when the server listens. With more
 * than one worker, or with `supervise`, this process only supervises workers, and each worker runs the same program up
 * to this call.
 * @throws ConfigError for an invalid option or variable, a port in use, or a value that is not an environment.
 */
export async function serve(environment: EnvironmentDefinition, options: ServeOptions = {}): Promise<RunningServer> {
  if (options.handleSignals !== true) return start(environment, options);
  return startInterruptibly(() => start(environment, options));
}

async function start(environment: EnvironmentDefinition, options: ServeOptions): Promise<RunningServer> {
  if (ISOLATE_MARK in globalThis) {
    throw new ConfigError(
      "The module of an isolated environment must not call serve(): move the call to another file.",
    );
  }
  if (process.env["OPENENV_WORKER_NUMBER"] !== undefined) {
    const { findCluster } = await import("./cluster/worker-cluster.js");
    return serveHere(environment, { ...options, handleSignals: false }, await findCluster());
  }
  const { workers, webInterface } = readConfig(environment, options, process.env);
  if (workers === 1 && options.supervise !== true) return serveHere(environment, options);
  const { superviseWorkers } = await import("./cluster/supervise.js");
  const { about: _about, ...server } = await superviseWorkers(options);
  return { ...server, environment, webInterface };
}
