import { createHash } from "node:crypto";
import { ConfigError, countSilentChecks, stopSeconds as serverStopSeconds } from "openenv-ts/internal";
import type { Topology } from "../topology.js";

/** Images of the balancers. The tests run what is installed, which may be older: the guide says which versions were. */
export const BALANCER_IMAGES = {
  envoy: "envoyproxy/envoy:v1.40.0",
  haproxy: "haproxy:3.0-alpine",
} as const;

/** What tells a server in a container its place in the topology. */
export function serverVariables(topology: Topology): Record<string, string> {
  return {
    HOST: "0.0.0.0",
    PORT: String(topology.port),
    WORKERS: String(topology.workers),
    MAX_CONCURRENT_ENVS: String(topology.capacity),
    ...stopVariables(topology),
    ...topology.variables,
    ...hostVariables(topology),
  };
}

/** The published name is one under which pages may use the servers. */
export function hostVariables({ ingressHost, variables }: Topology): Record<string, string> {
  if (ingressHost === undefined) return {};
  return { ALLOWED_HOSTS: [ingressHost, variables["ALLOWED_HOSTS"]].filter(Boolean).join(",") };
}

/** Of each service of Compose and of a swarm: a first process that reaps what others leave, and an end to its log. */
export const SERVICE_DEFAULTS = {
  init: true,
  logging: { driver: "json-file", options: { "max-size": "10m", "max-file": "5" } },
};

const TOKENS = ["OPENENV_CLIENT_TOKEN", "OPENENV_OPERATOR_TOKEN", "OPENENV_ORCHESTRATOR_TOKEN"];

/** Tokens of the servers, for targets that take them from the environment of the command that deploys. */
export function tokenVariables(): Record<string, string | null> {
  return {
    "# From the environment of the command that applies this file; without an operator's token /metrics is closed.":
      null,
    ...Object.fromEntries(TOKENS.map((name) => [name, `\${${name}:-}`])),
  };
}

/** Of a port that Docker publishes: what callers of the same machine pass through. Measured: experiments/PORTS.md. */
export function proxyNote(connections: number): string {
  return (
    `docker-proxy, through which callers at 127.0.0.1 connect, takes six descriptors for each session (${6 * connections} ` +
    `for all), and ends for good where the engine allows fewer: then set "userland-proxy": false in its daemon.json.`
  );
}

/** A command of the image that exits with 0 when the server serves: a swarm restarts one that does not, not one that is paused. */
export function healthCommand({ port }: Topology): string[] {
  const ask = `fetch('http://127.0.0.1:${port}/livez').then((r) => process.exit(r.ok ? 0 : 1), () => {})`;
  // Node 20 ends, and would with 0, while it waits for the answer of a connection that was closed without one.
  return ["node", "-e", `process.exitCode = 1; ${ask}`];
}

const CHECK_SECONDS = 5;

/** The health check of a server, in the words of Compose; a swarm restarts a server that fails it. */
export function healthcheck(topology: Topology): object {
  return {
    test: ["CMD", ...healthCommand(topology)],
    interval: `${CHECK_SECONDS}s`,
    timeout: "3s",
    "# Silent for longer than WORKER_TIMEOUT and STEP_TIMEOUT, which end what hangs at a lower cost.": null,
    retries: countSilentChecks(CHECK_SECONDS, topology.variables),
    start_period: "30s",
  };
}

/** Names what a file says: a target that keeps a balancer as long as its description is the same takes the new one up. */
export function fingerprint(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 12);
}

/** For a target that publishes the balancer by its own means. @throws ConfigError for an address that it would not keep. */
export function rejectHost(target: string, { balancer }: Topology): void {
  if (balancer.host === "0.0.0.0") return;
  throw new ConfigError(`${target} says itself where the balancer is published: leave balancer.host out.`);
}

/** Seconds after those for sessions, which answers in flight get. */
const ANSWER_SECONDS = 3;

/** What a server has to know to end within {@link stopSeconds}. */
export function stopVariables({ graceSeconds }: Topology): Record<string, string> {
  return { SHUTDOWN_DRAIN: String(graceSeconds), SHUTDOWN_GRACE: String(ANSWER_SECONDS) };
}

/** Seconds until a server that was told to end is killed. */
export function stopSeconds(topology: Topology): number {
  return serverStopSeconds(stopVariables(topology));
}

/**
 * Of Kubernetes: seconds in which whoever reads the cluster's own lists, such as a Service of yours, notices that a server is about to
 * be told to end. The balancers notice after that, by its check, and what they still send is let in.
 */
export const LEAVE_SECONDS = 5;
