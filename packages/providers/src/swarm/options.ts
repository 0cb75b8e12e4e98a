import type { DockerProviderOptions } from "../docker/options.js";
import { type ContainerSettings, parseOptions as parseDockerOptions } from "../docker/options.js";
import { rejectUnknown } from "../lifecycle/check-options.js";

/** Options of a service. Memory and cores apply to each replica. */
export interface SwarmProviderOptions
  extends Pick<DockerProviderOptions, "containerPort" | "memory" | "cpus" | "labels" | "pull"> {
  /** Port on 127.0.0.1 of the balancer in this process; default a free one. */
  port?: number | undefined;
  /** Overlay networks that the replicas join. */
  networks?: readonly string[] | undefined;
}

const KNOWN = [
  "port",
  "containerPort",
  "memory",
  "cpus",
  "labels",
  "pull",
  "networks",
] as const satisfies readonly (keyof SwarmProviderOptions)[];

export interface ServiceSettings
  extends Pick<ContainerSettings, "port" | "containerPort" | "labels" | "pull" | "host"> {
  networks: readonly string[];
}

/** @throws ConfigError with the option and its allowed values. */
export function parseOptions(options: SwarmProviderOptions): ServiceSettings {
  rejectUnknown("swarmProvider()", options, KNOWN);
  const { networks = [], ...ofContainer } = options;
  return { ...parseDockerOptions(ofContainer), networks };
}
