import { mostNodes, totalLimit } from "./limits.js";
import { nodeCapacity, type Topology } from "./topology.js";

/** What one of several Envoys side by side is given. */
export interface EnvoySize {
  replicas: number;
  cpus: number;
  memoryMib: number;
  /** Connections that it has room for. */
  connections: number;
}

/** Measured, as docs/design/scale.md has it: seconds of a processor for one step through Envoy. */
const STEP_SECONDS = 64e-6;
/** How often a session is stepped. */
const STEPS_PER_SECOND = 1;
/** Share of its processors that Envoy is to use. */
const USED = 0.7;
/** Processors of one Envoy at most: another Envoy costs less than a node that large. */
const MOST_CPUS = 8;
/** Envoy takes 54 kB for each session; the kernel's buffers count as the container's, too. */
const CONNECTION_KIB = 64;
const LEAST_MIB = 1024;
/** Of Envoy without connections. */
const EMPTY_MIB = 256;

/**
 * How many Envoys the deployment needs at its largest, and how large each is:
 *
 *     cores    = sessions x steps a second x 64 us / 0.7
 *     enough   = cores / 8, rounded up; one more is started, so that the others hold the sessions of one that is gone
 *     cpus     = cores / enough, rounded up
 *     memory   = 256 MiB + connections / enough x 64 KiB
 */
export function sizeEnvoys(topology: Topology): EnvoySize {
  const servers = mostNodes(topology);
  const cores = (nodeCapacity(topology) * servers * STEPS_PER_SECOND * STEP_SECONDS) / USED;
  const enough = Math.max(1, Math.ceil(cores / MOST_CPUS));
  const connections = Math.ceil(totalLimit(topology, servers) / enough);
  return {
    replicas: enough + 1,
    cpus: Math.max(1, Math.ceil(cores / enough)),
    memoryMib: Math.max(LEAST_MIB, EMPTY_MIB + Math.ceil((connections * CONNECTION_KIB) / 1024)),
    connections,
  };
}
