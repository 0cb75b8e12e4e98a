import { createHash } from "node:crypto";
import { ConfigError } from "openenv-ts";
import { countSilentChecks, stopSeconds as serverStopSeconds } from "../server-times.js";
import type { Topology } from "../topology.js";

/** Images of the balancers. The tests use the installed versions, which may be older; the guide lists them. */
export const BALANCER_IMAGES = {
  envoy: "envoyproxy/envoy:v1.40.0",
  haproxy: "haproxy:3.0-alpine",
} as const;

/** The environment variables of a server in a container. */
export function serverVariables(topology: Topology, journalHost = "journal"): Record<string, string> {
  return {
    HOST: "0.0.0.0",
    PORT: String(topology.port),
    WORKERS: String(topology.workers),
    MAX_CONCURRENT_ENVS: String(topology.capacity),
    ...(topology.journal === "redis" && { JOURNAL: `redis://${journalHost}:6379` }),
    ...stopVariables(topology),
    ...topology.variables,
    ...hostVariables(topology),
  };
}

/** Allows pages under the published host name. */
export function hostVariables({ ingressHost, variables }: Topology): Record<string, string> {
  if (ingressHost === undefined) return {};
  return { ALLOWED_HOSTS: [ingressHost, variables["ALLOWED_HOSTS"]].filter(Boolean).join(",") };
}

/** Settings of each service of Compose and of a swarm: an init process that reaps zombies, and a limited log. */
export const SERVICE_DEFAULTS = {
  init: true,
  "# A server needs no rights of root, and gains none.": null,
  cap_drop: ["ALL"],
  logging: { driver: "json-file", options: { "max-size": "10m", "max-file": "5" } },
};

/** A setting of each service of Compose; a swarm ignores it. */
export const NO_NEW_RIGHTS = { security_opt: ["no-new-privileges:true"] };

/** A Redis for the journal, with the last second at most not on its volume. It deletes no session when it is full. */
export const REDIS = {
  image: "redis:8-alpine",
  command: ["redis-server", "--appendonly", "yes", "--maxmemory-policy", "noeviction"],
  /** The user id and group id of the image. */
  user: 999,
  group: 1000,
} as const;

/** The Redis as a service of Compose or of a swarm. */
export function redisService(): object {
  const { image, command } = REDIS;
  return { image, ...SERVICE_DEFAULTS, user: "redis", command: [...command], volumes: ["journal:/data"] };
}

const TOKENS = ["OPENENV_CLIENT_TOKEN", "OPENENV_OPERATOR_TOKEN", "OPENENV_ORCHESTRATOR_TOKEN"];

/** Tokens of the servers, for targets that read them from the environment of the deploying command. */
export function tokenVariables({ journal }: Topology): Record<string, string | null> {
  return {
    "# From the environment of the command that applies this file. Without an operator token /metrics is closed.": null,
    ...Object.fromEntries(TOKENS.map((name) => [name, `\${${name}:-}`])),
    ...(journal === "secret" && {
      // biome-ignore lint/suspicious/noTemplateCurlyInString: the shell of Compose replaces it.
      JOURNAL: "${JOURNAL:?the address of the journal, such as redis://:password@host:6379}",
    }),
  };
}

/** What callers of the same machine pass through at a published port. Measured: benchmarks/reports/PORTS.md. */
export function proxyNote(connections: number): string {
  return (
    `Clients at 127.0.0.1 connect through docker-proxy, which needs six file descriptors for each session (${6 * connections} ` +
    `for all) and exits when the engine allows fewer: then set "userland-proxy": false in its daemon.json.`
  );
}

/**
 * A command in the image that exits with 0 when the server is alive. A swarm restarts a server that fails it; a paused
 * server passes.
 */
export function healthCommand({ port }: Topology): string[] {
  const ask = `fetch('http://127.0.0.1:${port}/livez').then((r) => process.exit(r.ok ? 0 : 1), () => {})`;
  // Node 20 exits, with 0 by default, while fetch waits on a connection that was closed without a response.
  return ["node", "-e", `process.exitCode = 1; ${ask}`];
}

const CHECK_SECONDS = 5;

/** The health check of a server in the format of Compose; a swarm restarts a server that fails it. */
export function healthcheck(topology: Topology): object {
  return {
    test: ["CMD", ...healthCommand(topology)],
    interval: `${CHECK_SECONDS}s`,
    timeout: "3s",
    "# Longer than WORKER_TIMEOUT and STEP_TIMEOUT, which stop a hanging worker or step at a lower cost.": null,
    retries: countSilentChecks(CHECK_SECONDS, topology.variables),
    start_period: "30s",
  };
}

/** A hash of a file's content, so that a target replaces a balancer whose configuration has changed. */
export function fingerprint(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 12);
}

/** Checks the host of a target that publishes the balancer itself. @throws ConfigError for one that it would ignore. */
export function rejectHost(target: string, { balancer }: Topology): void {
  if (balancer.host === "0.0.0.0") return;
  throw new ConfigError(`${target} controls where the balancer is published: remove balancer.host.`);
}

/** Seconds for responses in flight, after those for sessions. */
const ANSWER_SECONDS = 3;

/** The settings with which a server stops within {@link stopSeconds}. */
export function stopVariables({ graceSeconds }: Topology): Record<string, string> {
  return { SHUTDOWN_DRAIN: String(graceSeconds), SHUTDOWN_GRACE: String(ANSWER_SECONDS) };
}

/** Seconds from SIGTERM to SIGKILL of a server. */
export function stopSeconds(topology: Topology): number {
  return serverStopSeconds(stopVariables(topology));
}

/**
 * Seconds in which readers of the endpoints of a Kubernetes cluster, such as a Service of yours, notice that a server
 * will stop. The balancers notice later, by its health check; requests that they still send are accepted.
 */
export const LEAVE_SECONDS = 5;
