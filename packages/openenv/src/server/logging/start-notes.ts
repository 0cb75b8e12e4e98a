import { existsSync } from "node:fs";
import type { EnvironmentDefinition } from "../../environment/environment.js";
import type { Log } from "../../util/log.js";
import { isLoopback } from "../access/origins.js";
import type { Config } from "../config/config.js";

type Access = Pick<
  Config,
  | "host"
  | "mode"
  | "clientToken"
  | "operatorToken"
  | "operators"
  | "orchestratorToken"
  | "viewerToken"
  | "store"
  | "plugins"
>;

/** Logs once, at the start, which settings leave a server open and which have no effect. */
export function noteAccess(access: Access, log: Log): void {
  const { host, mode, operatorToken, operators, orchestratorToken, clientToken, viewerToken, store, plugins } = access;
  if (operatorToken === undefined && operators.length === 0) {
    log.info(
      {},
      "/sessions, /metrics and /web/server are closed: set OPENENV_OPERATOR_TOKEN to allow access with this token",
    );
  }
  if (mode === "simulation" && orchestratorToken !== undefined) {
    log.warn({}, "OPENENV_ORCHESTRATOR_TOKEN has no effect in simulation mode: set OPENENV_MODE=production");
  }
  if (viewerToken !== undefined && store === undefined) {
    log.warn({}, "OPENENV_VIEWER_TOKEN has no effect without a store: set OPENENV_STORE");
  }
  if (mode === "production" && orchestratorToken === undefined) {
    log.warn({}, "any client can reset, step and read the state: set OPENENV_ORCHESTRATOR_TOKEN");
  }
  const isDecided = plugins.some(({ authorize }) => authorize !== undefined);
  const isGuarded = mode === "production" && orchestratorToken !== undefined;
  if (!isLoopback(host) && clientToken === undefined && !isGuarded && !isDecided) {
    log.warn({ host }, "any client on the network can open sessions: set OPENENV_CLIENT_TOKEN");
  }
}

/** A proxy of Docker in front of a published port ends for good at this number of connections. */
const PROXY_CONNECTIONS = 4_096;

/** Logs at the start of a server in a container what raises its capacity, and warns of one that its port may not bear. */
export function noteContainer(
  { workers, maxConcurrentEnvs }: Pick<Config, "workers" | "maxConcurrentEnvs">,
  log: Log,
  isContainer = existsSync("/.dockerenv") || existsSync("/run/.containerenv"),
): void {
  if (!isContainer) return;
  const capacity = workers * maxConcurrentEnvs;
  const raise = "docker run -e MAX_CONCURRENT_ENVS=<sessions of a worker> raises it";
  if (capacity < PROXY_CONNECTIONS) {
    return log.info({ capacity }, `the container has room for ${capacity} sessions: ${raise}, with -e WORKERS`);
  }
  log.warn(
    { capacity },
    `docker run -p may end all connections for good at ${PROXY_CONNECTIONS}: use --network host, or set ` +
      '"userland-proxy": false in the daemon.json of the engine',
  );
}

/** Logs at the start that sessions in different workers share no memory, unless the environment declares that it needs none. */
export function noteSharedState(
  { sharesState, contract }: EnvironmentDefinition,
  { workers }: Pick<Config, "workers">,
  log: Log,
): void {
  if (workers === 1 || sharesState !== undefined) return;
  log.warn(
    { workers },
    `each worker has its own copy of the module's data, and "${contract.name}" does not declare whether its sessions ` +
      'share any: set sharesState to "no" in defineEnvironment, or to "process" and WORKERS to 1',
  );
}
