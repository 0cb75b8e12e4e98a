import { ConfigError } from "openenv-ts";
import { rejectUnknown } from "../lifecycle/check-options.js";

/** Options of a job. The defaults are those of `sbatch`. */
export interface SlurmProviderOptions {
  partition?: string | undefined;
  account?: string | undefined;
  qos?: string | undefined;
  constraint?: string | undefined;
  /** Number of nodes for the servers; by default Slurm places them. */
  nodes?: number | undefined;
  /** CPU cores of one server. */
  cpus?: number | undefined;
  /** Memory on each node in the syntax of `sbatch`: `2G`. */
  memory?: string | undefined;
  /** GPUs of one server. */
  gpus?: number | undefined;
  /** Time limit in the syntax of `sbatch` (`1-12:00:00`), after which Slurm ends the servers. */
  timeLimit?: string | undefined;
  /** Address that a server listens on; default `0.0.0.0`, because this process is on another machine. */
  host?: string | undefined;
  /** A folder that this machine and the nodes share; default in `OPENENV_STATE_DIR`, else in the home folder. */
  sharedDir?: string | undefined;
}

const KNOWN = [
  "partition",
  "account",
  "qos",
  "constraint",
  "nodes",
  "cpus",
  "memory",
  "gpus",
  "timeLimit",
  "host",
  "sharedDir",
] as const satisfies readonly (keyof SlurmProviderOptions)[];

/** @throws ConfigError with the option and its allowed values. */
export function checkOptions(options: SlurmProviderOptions): void {
  rejectUnknown("slurmProvider()", options, KNOWN);
  for (const name of ["nodes", "cpus", "gpus"] as const) {
    const value = options[name];
    if (value === undefined || (Number.isInteger(value) && value > 0)) continue;
    throw new ConfigError(`${name} must be a positive integer, got ${value}.`);
  }
  for (const name of ["partition", "account", "qos", "constraint", "memory", "timeLimit", "host"] as const) {
    const value = options[name];
    if (value === undefined || /^[^\s\0]+$/.test(value)) continue;
    throw new ConfigError(`${name} must be one word, got ${JSON.stringify(value)}.`);
  }
}

/** The flags for `sbatch`, for this number of servers. */
export function renderArguments(options: SlurmProviderOptions, servers: number): string[] {
  const { partition, account, qos, constraint, nodes, cpus, memory, gpus, timeLimit } = options;
  const given = {
    partition,
    account,
    qos,
    constraint,
    nodes,
    "cpus-per-task": cpus,
    mem: memory,
    "gpus-per-task": gpus,
    time: timeLimit,
    ntasks: servers,
  };
  return Object.entries(given).flatMap(([name, value]) => (value === undefined ? [] : [`--${name}=${value}`]));
}
