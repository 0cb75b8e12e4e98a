import { isAbsolute, resolve } from "node:path";
import { ConfigError } from "openenv-ts";
import { rejectUnknown } from "../lifecycle/check-options.js";

/** Options of a container. The defaults are those of `docker run`. */
export interface DockerProviderOptions {
  /** Port on the host; default a free one. */
  port?: number | undefined;
  /** Address on the host at which the port is published; default 127.0.0.1, so that no other machine can reach it. */
  publishOn?: string | undefined;
  /**
   * Port inside the container; default the first that answers of `PORT`, the ports that the image exposes, 8000 and
   * 7860.
   */
  containerPort?: number | undefined;
  /** `source:target` or `source:target:ro`. A path as source is a folder of the host, anything else a named volume. */
  volumes?: readonly string[] | undefined;
  /** Bytes, or a number with the suffix `k`, `m` or `g` (`512m`). The container is killed when it exceeds this. */
  memory?: number | string | undefined;
  /** CPU limit in cores (`1.5`). */
  cpus?: number | undefined;
  /** `all`, a number of GPUs, or their ids. */
  gpus?: "all" | number | readonly string[] | undefined;
  /** Network to join; `host` for the network of the host. */
  network?: string | undefined;
  /** Platform of a multi-platform image, such as `linux/amd64`. */
  platform?: string | undefined;
  /** Runtime of the engine, such as `runsc` for gVisor. */
  runtime?: string | undefined;
  /** Extra labels; names that begin with `openenv.` are reserved. */
  labels?: Readonly<Record<string, string>> | undefined;
  /** When to pull the image from its registry; default `missing`. */
  pull?: "missing" | "always" | "never" | undefined;
}

const KNOWN = [
  "port",
  "publishOn",
  "containerPort",
  "volumes",
  "memory",
  "cpus",
  "gpus",
  "network",
  "platform",
  "runtime",
  "labels",
  "pull",
] as const satisfies readonly (keyof DockerProviderOptions)[];

/** The options in the format of the engine's API. */
export interface ContainerSettings {
  port: number;
  publishOn: string;
  containerPort: number | undefined;
  labels: Readonly<Record<string, string>>;
  platform: string | undefined;
  pull: "missing" | "always" | "never";
  network: string | undefined;
  /** Goes into `HostConfig`. */
  host: Record<string, unknown>;
}

/** @throws ConfigError with the option and its allowed values. */
export function parseOptions(options: DockerProviderOptions): ContainerSettings {
  rejectUnknown("dockerProvider()", options, KNOWN);
  const {
    port = 0,
    containerPort,
    publishOn = "127.0.0.1",
    labels = {},
    pull = "missing",
    network,
    platform,
  } = options;
  checkPort("port", port, 0);
  if (containerPort !== undefined) checkPort("containerPort", containerPort, 1);
  demand(["missing", "always", "never"].includes(pull), `pull must be missing, always or never, got ${pull}.`);
  demand(network !== "none", "network must not be none: a container without a network cannot be reached. Omit it.");
  for (const name of Object.keys(labels)) {
    demand(!name.startsWith("openenv."), `The label ${name} is reserved. Use a name that does not begin with openenv.`);
  }
  const { memory, cpus, gpus, runtime, volumes = [] } = options;
  return {
    port,
    publishOn,
    containerPort,
    labels,
    platform,
    pull,
    network,
    host: {
      ...(memory !== undefined && { Memory: parseMemory(memory) }),
      ...(cpus !== undefined && { NanoCpus: parseCpus(cpus) }),
      ...(gpus !== undefined && { DeviceRequests: [parseGpus(gpus)] }),
      ...(network !== undefined && { NetworkMode: network }),
      ...(runtime !== undefined && { Runtime: runtime }),
      ...(volumes.length > 0 && { Mounts: volumes.map(parseVolume) }),
    },
  };
}

function demand(condition: boolean, message: string): asserts condition {
  if (!condition) throw new ConfigError(message);
}

function checkPort(name: string, value: number, least: number): void {
  const fits = Number.isInteger(value) && value >= least && value <= 65_535;
  demand(
    fits,
    `${name} must be an integer from ${least}${least === 0 ? " (a free port)" : ""} to 65535, got ${value}.`,
  );
}

const UNITS: Record<string, number> = { "": 1, b: 1, k: 2 ** 10, m: 2 ** 20, g: 2 ** 30 };
/** The minimum that an engine accepts. */
const MIN_MEMORY = 6 * 2 ** 20;

function parseMemory(memory: number | string): number {
  const [, digits = "", unit = ""] = /^(\d+(?:\.\d+)?)([bkmg]?)b?$/i.exec(String(memory)) ?? [];
  const bytes = Math.floor(Number(digits) * (UNITS[unit.toLowerCase()] ?? Number.NaN));
  demand(bytes >= MIN_MEMORY, `memory must be at least 6m, in bytes or as "512m" or "2g", got ${memory}.`);
  return bytes;
}

function parseCpus(cpus: number): number {
  demand(Number.isFinite(cpus) && cpus >= 0.01, `cpus must be a number of cores, at least 0.01, got ${cpus}.`);
  return Math.round(cpus * 1e9);
}

function parseGpus(gpus: "all" | number | readonly string[]): Record<string, unknown> {
  const request = { Driver: "", Capabilities: [["gpu"]] };
  if (gpus === "all") return { ...request, Count: -1 };
  if (typeof gpus === "object") return { ...request, DeviceIDs: [...gpus] };
  demand(Number.isInteger(gpus) && gpus > 0, `gpus must be "all", a positive integer or a list of ids, got ${gpus}.`);
  return { ...request, Count: gpus };
}

/** A mount, not a bind: a missing folder is an error, and the engine does not create it as root. */
function parseVolume(text: string): Record<string, unknown> {
  const [, source = "", target = "", mode] = /^((?:[A-Za-z]:)?[^:]+):([^:]+)(?::(ro|rw))?$/.exec(text) ?? [];
  demand(target.startsWith("/"), `The volume "${text}" is not valid. Use source:/target or source:/target:ro.`);
  const isPath = isAbsolute(source) || source.startsWith(".");
  return {
    Type: isPath ? "bind" : "volume",
    Source: isPath ? resolve(source) : source,
    Target: target,
    ReadOnly: mode === "ro",
  };
}
