import { nodeCapacity, type Topology } from "../topology.js";

/**
 * Connections that a balancer lets through to one server: its sessions, and a tenth more, at least 64. Without them the
 * balancer would answer for a full server, and not the server itself with the protocol's own refusal.
 */
export function connectionLimit(topology: Topology): number {
  const sessions = nodeCapacity(topology);
  return sessions + Math.max(64, Math.ceil(sessions / 10));
}

/** What one balancer holds for that many servers. */
export function totalLimit(topology: Topology, servers: number): number {
  return connectionLimit(topology) * servers;
}

/** How many servers the deployment may come to have. */
export function mostNodes({ nodes, spares, maxNodes }: Topology): number {
  return maxNodes ?? nodes + spares;
}
