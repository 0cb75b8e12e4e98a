/** Serves in several processes: one supervises the workers, and each of them finds the others. */
export { superviseWorkers } from "./supervise.js";
export { findCluster, reportFailure } from "./worker-cluster.js";
