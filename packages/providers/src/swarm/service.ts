import { countSilentChecks, stopSeconds } from "openenv-ts/internal";
import type { ImageConfig } from "../docker/image.js";
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
  /** What {@link renderLife} made of the image's. */
  life: object;
}

const SECOND = 1e9;
/** How long a new replica of an update must stand before the next one is exchanged. */
const MONITOR_SECONDS = 5;

/** The body of `POST /services/create`. */
export function renderService(spec: ServiceSpec): Record<string, unknown> {
  const { name, image, env = {}, ports, count, settings, life } = spec;
  const { Memory: memory, NanoCpus: cpus } = settings.host;
  return {
    Name: name,
    Labels: { ...settings.labels, ...renderLabels("swarm", image) },
    TaskTemplate: {
      ContainerSpec: {
        Image: image,
        Env: Object.entries(env).map(([key, value]) => `${key}=${value}`),
        // A first process that reaps: not every image has one.
        Init: true,
        ...life,
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

/** What depends on the image and its variables: when a swarm kills a replica that is to stop, and one that hangs. */
export function renderLife(image: ImageConfig, env: StartOptions["env"], apiVersion: string): object {
  const variables = { ...image.env, ...env };
  return {
    StopGracePeriod: stopSeconds(variables) * SECOND,
    Healthcheck: renderHealthcheck(image.healthcheck, variables, apiVersion),
  };
}

/**
 * How often a swarm checks a replica; undefined for an image without a HEALTHCHECK. A replica counts as running from its
 * first success on, and the default is 30 s to the first check. The command stays the image's own. A replica that is
 * checked more often than its image says is not restarted sooner.
 */
function renderHealthcheck(
  healthcheck: ImageConfig["healthcheck"],
  variables: ImageConfig["env"],
  apiVersion: string,
): object | undefined {
  if (healthcheck === undefined) return undefined;
  const { Interval: ofImage, StartPeriod: startPeriod, Retries: retries } = healthcheck;
  const [major = 0, minor = 0] = apiVersion.split(".").map(Number);
  const given = (ofImage || ENGINE.intervalSeconds * SECOND) / SECOND;
  const interval = Math.min(given, CHECK_SECONDS);
  return {
    Interval: interval * SECOND,
    Retries: Math.max(
      countSilentChecks(interval, variables),
      Math.ceil(((retries || ENGINE.retries) * given) / interval),
    ),
    ...((major > 1 || minor >= START_INTERVAL_MINOR) && {
      StartPeriod: startPeriod || START_PERIOD_SECONDS * SECOND,
      StartInterval: SECOND,
    }),
  };
}

/** Where an image does not say it. */
const ENGINE = { intervalSeconds: 30, retries: 3 };
const CHECK_SECONDS = 5;
const START_PERIOD_SECONDS = 30;
/** The API of the engine knows `StartInterval` from 1.44 on. */
const START_INTERVAL_MINOR = 44;

/** Each replica has a port of its own: through the swarm's common one, each connection may land on another replica. */
export function renderEndpoint(ports: readonly number[]): Record<string, unknown> {
  return { Ports: ports.map((TargetPort) => ({ Protocol: "tcp", TargetPort, PublishMode: "host" })) };
}
