import { ConfigError } from "openenv-ts/internal";
import { rejectUnknown } from "../lifecycle/check-options.js";

/** How a job is submitted; what is left out is as with `sbatch`. */
export interface SlurmProviderOptions {
  partition?: string | undefined;
  account?: string | undefined;
  qos?: string | undefined;
  constraint?: string | undefined;
  /** Over how many nodes the servers are spread; default as Slurm places them. */
  nodes?: number | undefined;
  /** Cores of one server. */
  cpus?: number | undefined;
  /** Memory of one server's node as `sbatch` writes it: `2G`. */
  memory?: string | undefined;
  /** GPUs of one server. */
  gpus?: number | undefined;
  /** As `sbatch` writes it (`1-12:00:00`); after it Slurm ends the servers. */
  timeLimit?: string | undefined;
  /** Address of a node at which its server listens; default `0.0.0.0`, as this process is on another machine. */
  host?: string | undefined;
  /** A folder that this machine and the nodes share; default that of `OPENENV_STATE_DIR`, else of the home. */
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

/** @throws ConfigError that names the option and what is allowed. */
export function checkOptions(options: SlurmProviderOptions): void {
  rejectUnknown("slurmProvider()", options, KNOWN);
  for (const name of ["nodes", "cpus", "gpus"] as const) {
    const value = options[name];
    if (value === undefined || (Number.isInteger(value) && value > 0)) continue;
    throw new ConfigError(`${name} is ${value}; give a whole number from 1 on.`);
  }
  for (const name of ["partition", "account", "qos", "constraint", "memory", "timeLimit", "host"] as const) {
    const value = options[name];
    if (value === undefined || /^[^\s\0]+$/.test(value)) continue;
    throw new ConfigError(`${name} is ${JSON.stringify(value)}; give one word.`);
  }
}

/** What the options are for `sbatch`, for so many servers. */
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
