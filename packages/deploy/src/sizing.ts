import { mostNodes, totalLimit } from "./limits.js";
import { nodeCapacity, type Topology } from "./topology.js";

/** The resources of each Envoy when several share the load. */
export interface EnvoySize {
  replicas: number;
  cpus: number;
  memoryMib: number;
  /** Its connection limit. */
  connections: number;
}

/** CPU seconds for one step through Envoy: docs/design/scale.md has its steps per CPU-second. */
const STEP_SECONDS = 64e-6;
/** Steps of a session per second. */
const STEPS_PER_SECOND = 1;
/** Target CPU utilization of Envoy. */
const USED = 0.7;
/** Most CPUs of one Envoy: another Envoy costs less than a larger node. */
const MAX_CPUS = 8;
/** Envoy needs 54 kB for each session; the kernel's buffers count towards the container, too. */
const CONNECTION_KIB = 64;
const MIN_MIB = 1024;
/** Memory of Envoy without connections. */
const EMPTY_MIB = 256;

/**
 * The number of Envoys for the largest size of the deployment, and the resources of each:
 *
 *     cores    = sessions x steps a second x 64 us / 0.7
 *     enough   = cores / 8, rounded up; one more is started, so that the others can take over from one that fails
 *     cpus     = cores / enough, rounded up
 *     memory   = 256 MiB + connections / enough x 64 KiB
 */
export function sizeEnvoys(topology: Topology): EnvoySize {
  const servers = mostNodes(topology);
  const cores = (nodeCapacity(topology) * servers * STEPS_PER_SECOND * STEP_SECONDS) / USED;
  const enough = Math.max(1, Math.ceil(cores / MAX_CPUS));
  const connections = Math.ceil(totalLimit(topology, servers) / enough);
  return {
    replicas: enough + 1,
    cpus: Math.max(1, Math.ceil(cores / enough)),
    memoryMib: Math.max(MIN_MIB, EMPTY_MIB + Math.ceil((connections * CONNECTION_KIB) / 1024)),
    connections,
  };
}
