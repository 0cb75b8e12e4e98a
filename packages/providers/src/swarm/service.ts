import { countSilentChecks, stopSeconds } from "@openenv-ts/deploy";
import type { ImageConfig } from "../docker/image.js";
import { renderLabels } from "../docker/labels.js";
import type { StartOptions } from "../provider.js";
import type { ServiceSettings } from "./options.js";

export interface ServiceSpec {
  name: string;
  image: string;
  env: StartOptions["env"];
  /** Ports inside the container that the server may listen on. */
  ports: readonly number[];
  count: number;
  settings: ServiceSettings;
  /** The result of {@link renderLife} for the image. */
  life: object;
}

const SECOND = 1e9;
/** The time that a new replica of an update must run before the next one is replaced. */
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
        // Runs an init process that reaps zombies; not every image has one.
        Init: true,
        ...life,
      },
      Resources: {
        Limits: { ...(memory !== undefined && { MemoryBytes: memory }), ...(cpus !== undefined && { NanoCPUs: cpus }) },
      },
      RestartPolicy: { Condition: "any", Delay: SECOND },
      // Limits the log on disk, and makes it readable whatever the engine's default driver is.
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

/** The settings that depend on the image and its variables: when a swarm kills a stopping replica and a hanging one. */
export function renderLife(image: ImageConfig, env: StartOptions["env"], apiVersion: string): object {
  const variables = { ...image.env, ...env };
  return {
    StopGracePeriod: stopSeconds(variables) * SECOND,
    Healthcheck: renderHealthcheck(image.healthcheck, variables, apiVersion),
  };
}

/**
 * The health check of a replica; undefined for an image without a HEALTHCHECK. A replica counts as running after
 * its first success, and by default the first check comes after 30 s. The command stays that of the image. A replica
 * that is checked more often than its image says is not restarted sooner.
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

/** The engine's default for an image that sets none. */
const ENGINE = { intervalSeconds: 30, retries: 3 };
const CHECK_SECONDS = 5;
const START_PERIOD_SECONDS = 30;
/** The engine's API supports `StartInterval` since version 1.44. */
const START_INTERVAL_MINOR = 44;

/** Each replica has its own port: through the swarm's shared port, each connection may reach another replica. */
export function renderEndpoint(ports: readonly number[]): Record<string, unknown> {
  return { Ports: ports.map((TargetPort) => ({ Protocol: "tcp", TargetPort, PublishMode: "host" })) };
}
