import { type Backend, hasAddress, nodeCapacity, type Topology } from "./topology.js";

/** What a balancer finds the servers by: fixed addresses, or a DNS name with an address for each. */
export interface Servers {
  /** One entry for each server. Empty when a script adds them later. */
  backends?: readonly Backend[];
  discovery?: { name: string };
  /** Connection limit of this balancer when several share the load; default: the limit of all servers. */
  connections?: number;
  /**
   * True for a job that may share its machines with others: its script replaces {@link JOB_PORT} and the other
   * placeholders at run time.
   */
  isJob?: boolean;
}

export const JOB_PORT = "@port@";
export const JOB_METRICS_PORT = "@metrics-port@";
export const JOB_DEPLOYMENT = "@deployment@";
/** Placeholder of a folder that only this job can read. */
export const JOB_FOLDER = "@folder@";

/**
 * Connection limit for one server: its sessions plus a tenth, at least 64 more. The extra connections let a full server
 * reject clients itself, with the error of the protocol.
 */
export function connectionLimit(topology: Topology): number {
  const sessions = nodeCapacity(topology);
  return sessions + Math.max(64, Math.ceil(sessions / 10));
}

/** Connection limit of a balancer for this number of servers. */
export function totalLimit(topology: Topology, servers: number): number {
  return connectionLimit(topology) * servers;
}

/** The default of fs.nr_open on Linux. */
const NR_OPEN = 1_048_576;

/** File descriptors of one balancer: two for each connection, and some for the rest. */
export function countDescriptors(connections: number): number {
  return connections * 2 + 1000;
}

/** Advice when a limit of this many descriptors cannot be set; undefined when it can. */
export function describeRaise(descriptors: number): string | undefined {
  if (descriptors <= NR_OPEN) return undefined;
  return `Linux allows a process ${NR_OPEN} by default: run sysctl -w fs.nr_open=${descriptors}, or use several balancers.`;
}

/** Comment lines for the head of a balancer's file. */
export function renderDescriptors(connections: number): string {
  const count = countDescriptors(connections);
  const raise = describeRaise(count);
  return `# A connection needs two file descriptors: start it with a limit of at least ${count} (ulimit -n).
${raise === undefined ? "" : `# ${raise}\n`}`;
}

/**
 * The number of servers that a balancer is sized for: the number of given addresses. With a DNS name, or with servers
 * that a script adds later, it is the number in the topology.
 */
export function countServers(topology: Topology, backends: readonly Backend[]): number {
  const isFixed = backends.length > 0 && backends.every(hasAddress);
  return isFixed ? backends.length : Math.max(backends.length, mostNodes(topology));
}

/** The number of servers that Envoy is sized for. Its file of endpoints may get more than the addresses that are given. */
export function countEnvoyServers(topology: Topology, backends: readonly Backend[]): number {
  return Math.max(backends.length, mostNodes(topology));
}

/** The largest number of servers of the deployment. */
export function mostNodes({ nodes, spareNodes, maxNodes }: Topology): number {
  return maxNodes ?? nodes + spareNodes;
}
