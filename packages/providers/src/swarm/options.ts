import type { DockerProviderOptions } from "../docker/options.js";
import { type ContainerSettings, parseOptions as parseDockerOptions } from "../docker/options.js";
import { rejectUnknown } from "../lifecycle/check-options.js";

/** How a service is started; memory and cores are those of one replica. */
export interface SwarmProviderOptions
  extends Pick<DockerProviderOptions, "containerPort" | "memory" | "cpus" | "labels" | "pull"> {
  /** The port on 127.0.0.1 at which this process stands in front of the replicas; default a free one. */
  port?: number | undefined;
  /** Names of overlay networks that the replicas join. */
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

/** @throws ConfigError that names the option and what is allowed. */
export function parseOptions(options: SwarmProviderOptions): ServiceSettings {
  rejectUnknown("swarmProvider()", options, KNOWN);
  const { networks = [], ...ofContainer } = options;
  return { ...parseDockerOptions(ofContainer), networks };
}
