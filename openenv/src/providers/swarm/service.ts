import { renderLabels } from "../docker/labels.js";
import type { StartOptions } from "../provider.js";
import type { ServiceSettings } from "./options.js";

export interface ServiceSpec {
  name: string;
  image: string;
  env: StartOptions["env"];
  /** Ports inside at which the server may listen. */
  ports: readonly number[];
  count: number;
  settings: ServiceSettings;
}

const SECOND = 1e9;
/** What a server gets to end in order. */
const STOP_SECONDS = 3;
/** How long a new replica of an update must stand before the next one is exchanged. */
const MONITOR_SECONDS = 5;

/** The body of `POST /services/create`. */
export function renderService({ name, image, env = {}, ports, count, settings }: ServiceSpec): Record<string, unknown> {
  const { Memory: memory, NanoCpus: cpus } = settings.host;
  return {
    Name: name,
    Labels: { ...settings.labels, ...renderLabels("swarm", image) },
    TaskTemplate: {
      ContainerSpec: {
        Image: image,
        Env: Object.entries(env).map(([key, value]) => `${key}=${value}`),
        StopGracePeriod: STOP_SECONDS * SECOND,
      },
      Resources: {
        Limits: { ...(memory !== undefined && { MemoryBytes: memory }), ...(cpus !== undefined && { NanoCPUs: cpus }) },
      },
      RestartPolicy: { Condition: "any", Delay: SECOND },
      // It can be read back whatever the engine's default is, and does not fill the disk.
      LogDriver: { Name: "json-file", Options: { "max-size": "10m", "max-file": "2" } },
      ...(settings.networks.length > 0 && { Networks: settings.networks.map((Target) => ({ Target })) }),
    },
    Mode: { Replicated: { Replicas: count } },
    UpdateConfig: {
      Parallelism: 1,
      Order: "start-first",
      FailureAction: "rollback",
      Monitor: MONITOR_SECONDS * SECOND,
    },
    RollbackConfig: { Parallelism: 1, Order: "start-first", FailureAction: "pause", Monitor: SECOND },
    EndpointSpec: renderEndpoint(ports),
  };
}

/** Each replica has a port of its own: through the swarm's common one, each connection may land on another replica. */
export function renderEndpoint(ports: readonly number[]): Record<string, unknown> {
  return { Ports: ports.map((TargetPort) => ({ Protocol: "tcp", TargetPort, PublishMode: "host" })) };
}
