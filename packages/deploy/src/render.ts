import { ConfigError } from "openenv-ts/internal";
import { renderEnvoy } from "./balancers/envoy.js";
import { renderHaproxy } from "./balancers/haproxy.js";
import { renderMonitoring } from "./monitoring/monitoring.js";
import { renderCompose } from "./targets/compose.js";
import { renderKubernetes } from "./targets/kubernetes.js";
import { renderSlurm } from "./targets/slurm.js";
import { renderSwarm } from "./targets/swarm.js";
import { BALANCERS, type BalancerKind, type DeployTarget, isBalancer, type RenderedFiles } from "./targets.js";
import { type Backend, parseBackend, type Topology } from "./topology.js";

/**
 * Renders the files of a target. `backends` (`host:port`) are the servers that a balancer of its own stands before.
 * @throws ConfigError when the topology does not fit the target.
 */
export function renderTarget(
  target: DeployTarget,
  topology: Topology,
  backends: readonly string[] = [],
): RenderedFiles {
  if (backends.length > 0 && !isBalancer(target)) {
    throw new ConfigError(
      `Backends are for a balancer of its own (${BALANCERS.join(", ")}); ${target} finds its servers.`,
    );
  }
  if (target === "kubernetes") return renderKubernetes(topology);
  // Nothing else adds servers by itself: there are as many as were asked for, from the start.
  const fixed = { ...topology, maxNodes: undefined };
  switch (target) {
    case "compose":
      return renderCompose(fixed);
    case "swarm":
      return renderSwarm(fixed);
    case "slurm":
      return renderSlurm(fixed);
    case "monitoring":
      return renderMonitoring(fixed);
    default:
      return renderBalancer(target, fixed, named(backends));
  }
}

function renderBalancer(kind: BalancerKind, topology: Topology, backends: readonly Backend[]): RenderedFiles {
  if (kind === "envoy") return { "envoy.yaml": renderEnvoy(topology, { backends }) };
  return { "haproxy.cfg": renderHaproxy(topology, { backends }) };
}

function named(backends: readonly string[]): Backend[] {
  if (backends.length === 0) {
    throw new ConfigError("Name the servers behind the balancer: --backend 10.0.0.5:8000 --backend 10.0.0.6:8000.");
  }
  const twice = backends.find((backend, index) => backends.indexOf(backend) < index);
  if (twice !== undefined) throw new ConfigError(`The backend ${twice} is named twice: name each server once.`);
  return backends.map(parseBackend);
}
