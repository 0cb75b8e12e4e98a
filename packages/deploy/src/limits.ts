import { type Backend, hasAddress, nodeCapacity, type Topology } from "./topology.js";

/** Where a balancer finds the servers: at fixed addresses, or behind a name that has an address for each. */
export interface Servers {
  /** Each is one server. Without any, a script that knows them later adds them. */
  backends?: readonly Backend[];
  discovery?: { name: string };
  /** Connections of this balancer, where several share the load; by default as many as all servers take. */
  connections?: number;
  /**
   * For a job that may share its machines with others: its script replaces {@link JOB_PORT} and the other words by what
   * it learns when it runs.
   */
  isJob?: boolean;
}

export const JOB_PORT = "@port@";
export const JOB_METRICS_PORT = "@metrics-port@";
export const JOB_DEPLOYMENT = "@deployment@";
/** One that only this job may read. */
export const JOB_FOLDER = "@folder@";

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

/** What a process may open on Linux unless somebody raises it. */
const NR_OPEN = 1_048_576;

/** Descriptors of one balancer: two for each connection, and some for all else. */
export function countDescriptors(connections: number): number {
  return connections * 2 + 1000;
}

/** Why a limit of that many descriptors cannot be set yet, and what to do; undefined where it can. */
export function describeRaise(descriptors: number): string | undefined {
  if (descriptors <= NR_OPEN) return undefined;
  return `More than the ${NR_OPEN} that Linux allows a process: sysctl -w fs.nr_open=${descriptors}, or several balancers.`;
}

/** Lines for the head of a balancer's file. */
export function renderDescriptors(connections: number): string {
  const count = countDescriptors(connections);
  const raise = describeRaise(count);
  return `# A connection takes two descriptors: start it with a limit of at least ${count} (ulimit -n).
${raise === undefined ? "" : `# ${raise}\n`}`;
}

/**
 * How many servers a balancer counts with: those whose addresses it was given, whatever else the topology says. A name
 * may stand for many, and a script adds as many as there are: then it is what the topology says.
 */
export function countServers(topology: Topology, backends: readonly Backend[]): number {
  const isFixed = backends.length > 0 && backends.every(hasAddress);
  return isFixed ? backends.length : Math.max(backends.length, mostNodes(topology));
}

/** How many servers the deployment may come to have. */
export function mostNodes({ nodes, spareNodes, maxNodes }: Topology): number {
  return maxNodes ?? nodes + spareNodes;
}
