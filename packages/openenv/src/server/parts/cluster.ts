import { loadPart } from "../../util/load-part.js";
import type { Cluster, ServerAbout } from "../cluster.js";
import { readSettings } from "../config/read-settings.js";
import type { Settings } from "../config/settings.js";
import { startInterruptibly } from "../lifecycle/signals.js";
import type { RunningServer, ServeOptions } from "../types.js";
import { addRecorder } from "./rollouts.js";

export { watchParent } from "../../session/watchdog.js";

/** The server of a supervisor. It does not load the environment; its data comes from a worker. */
interface SupervisedServer extends Omit<RunningServer, "environment" | "webInterface"> {
  about: ServerAbout | undefined;
}

export type SupervisorSettings = Pick<
  Settings,
  | "host"
  | "port"
  | "workers"
  | "heapMb"
  | "workerTimeoutMs"
  | "graceMs"
  | "drainMs"
  | "logLevel"
  | "handleSignals"
  | "journal"
  | "journalDurability"
  | "plugins"
  | "store"
  | "storeContents"
  | "storeMaxAge"
  | "storeMaxEpisodes"
  | "storeMaxBytes"
>;

/** The program of the workers, if it is not that of this process: a script and its arguments. */
export interface WorkerProgram {
  exec: string;
  args: string[];
}

/** The part of openenv-ts that serves in several processes. */
export interface ClusterPart {
  superviseWorkers: typeof superviseWorkers;
  findCluster: typeof findCluster;
  reportFailure: typeof reportFailure;
}

/**
 * Starts the workers and replaces those that exit or hang. They run `program`, by default that of this process.
 * @throws ConfigError when the port is in use or a worker cannot start, or when this installation lacks the part.
 */
export async function superviseWorkers(
  settings: SupervisorSettings,
  program?: WorkerProgram,
): Promise<SupervisedServer> {
  const { workers, heapMb } = settings;
  const use = workers > 1 ? `WORKERS ${workers}` : heapMb === undefined ? "supervise" : `HEAP_MB ${heapMb}`;
  return (await loadCluster(use)).superviseWorkers(await addRecorder(settings), program);
}

/** Supervises workers that run `program`, until a signal ends them. @throws ConfigError, as {@link superviseWorkers}. */
export async function superviseProgram(options: ServeOptions, program: WorkerProgram): Promise<SupervisedServer> {
  const settings = readSettings({ ...options, handleSignals: true }, process.env);
  return startInterruptibly(() => superviseWorkers(settings, program));
}

/**
 * Returns the cluster if a supervisor has started this process as a worker. From the first call on, the process listens
 * to the supervisor and ends soon after it, even in an endless loop.
 */
export async function findCluster(): Promise<Cluster | undefined> {
  return (await loadCluster(WORKER)).findCluster();
}

/** Reports to the supervisor why this worker cannot serve. Resolves when the message has been sent. */
export async function reportFailure(error: unknown): Promise<void> {
  return (await loadCluster(WORKER)).reportFailure(error);
}

const WORKER = "a worker";

function loadCluster(use: string): Promise<ClusterPart> {
  return loadPart("cluster", () => import("#parts/cluster" as string), use);
}
