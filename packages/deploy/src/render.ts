import { ConfigError } from "openenv-ts";
import { ENDPOINTS_FILE, renderEndpoints, renderEnvoy } from "./balancers/envoy.js";
import { renderHaproxy } from "./balancers/haproxy.js";
import { renderMonitoring } from "./monitoring/monitoring.js";
import { renderCompose } from "./targets/compose.js";
import { renderKubernetes } from "./targets/kubernetes.js";
import { renderSlurm } from "./targets/slurm.js";
import { renderSwarm } from "./targets/swarm.js";
import { BALANCERS, type BalancerKind, type DeployTarget, isBalancer, type RenderedFiles } from "./targets.js";
import { type Backend, hasAddress, parseBackend, type Topology } from "./topology.js";

/**
 * Renders the files of a target. `backends` (`host:port`, default those of the topology) are the servers of a standalone
 * balancer, or those that Prometheus scrapes.
 * @throws ConfigError when the topology does not fit the target.
 */
export function renderTarget(
  target: DeployTarget,
  topology: Topology,
  backends: readonly string[] = topology.backends,
): RenderedFiles {
  if (backends.length > 0 && target !== "monitoring" && !isBalancer(target)) {
    throw new ConfigError(
      `Backends are only for a standalone balancer (${BALANCERS.join(", ")}) and for monitoring; ${target} finds its servers itself.`,
    );
  }
  if (target === "kubernetes") return renderKubernetes(topology);
  if (topology.egress !== undefined && target !== "monitoring" && !isBalancer(target)) {
    throw new ConfigError(`Only Kubernetes restricts what servers connect to: remove egress for ${target}.`);
  }
  // Only Kubernetes adds servers by itself; the other targets start a fixed number.
  const fixed = { ...topology, maxNodes: undefined };
  switch (target) {
    case "compose":
      return renderCompose(fixed);
    case "swarm":
      return renderSwarm(fixed);
    case "slurm":
      return renderSlurm(fixed);
    case "monitoring":
      return renderMonitoring(fixed, parseBackends(backends));
    default:
      return renderBalancer(target, fixed, parseBackends(backends));
  }
}

function renderBalancer(kind: BalancerKind, topology: Topology, backends: readonly Backend[]): RenderedFiles {
  if (backends.length === 0) {
    throw new ConfigError("A balancer needs its servers, for example --backend 10.0.0.5:8000 --backend 10.0.0.6:8000.");
  }
  if (kind === "haproxy") return { "haproxy.cfg": renderHaproxy(topology, { backends }) };
  const config = { "envoy.yaml": renderEnvoy(topology, { backends }) };
  return backends.every(hasAddress) ? { ...config, [ENDPOINTS_FILE]: renderEndpoints(backends) } : config;
}

function parseBackends(backends: readonly string[]): Backend[] {
  const twice = backends.find((backend, index) => backends.indexOf(backend) < index);
  if (twice !== undefined) throw new ConfigError(`The backend ${twice} is given twice. Give each server once.`);
  return backends.map(parseBackend);
}
