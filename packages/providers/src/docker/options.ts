import { isAbsolute, resolve } from "node:path";
import { ConfigError } from "openenv-ts/internal";
import { rejectUnknown } from "../lifecycle/check-options.js";

/** How a container is started; what is left out is as with `docker run`. */
export interface DockerProviderOptions {
  /** Port on the host, default a free one. */
  port?: number | undefined;
  /** Address on the host at which the port is published; default 127.0.0.1, so that nobody else reaches it. */
  publishOn?: string | undefined;
  /** Port inside the container; default the one that answers of those the image exposes, `PORT`, 8000 and 7860. */
  containerPort?: number | undefined;
  /** `source:target` or `source:target:ro`; a source that is a path is a folder of the host, any other a named volume. */
  volumes?: readonly string[] | undefined;
  /** Bytes, or a number with `k`, `m` or `g` behind it (`512m`). The container is killed when it wants more. */
  memory?: number | string | undefined;
  /** How many cores of time it may use (`1.5`). */
  cpus?: number | undefined;
  /** All, so many, or those of these ids. */
  gpus?: "all" | number | readonly string[] | undefined;
  /** Name of the network to join; `host` for the host's. */
  network?: string | undefined;
  /** `linux/amd64`, where the image has several. */
  platform?: string | undefined;
  /** The runtime of the engine: `runsc` for gVisor's. */
  runtime?: string | undefined;
  /** Own labels; names that begin with `openenv.` are taken. */
  labels?: Readonly<Record<string, string>> | undefined;
  /** When to fetch the image from its registry; default `missing`. */
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

/** The options in the engine's words. */
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

/** @throws ConfigError that names the option and what is allowed. */
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
  demand(["missing", "always", "never"].includes(pull), `pull is ${pull}; give missing, always or never.`);
  demand(network !== "none", "network is none; a container without a network cannot be reached. Leave it out.");
  for (const name of Object.keys(labels)) {
    demand(!name.startsWith("openenv."), `The label ${name} is taken: names that begin with openenv. are our own.`);
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
  demand(fits, `${name} is ${value}; give a whole number from ${least}${least === 0 ? " (a free one)" : ""} to 65535.`);
}

const UNITS: Record<string, number> = { "": 1, b: 1, k: 2 ** 10, m: 2 ** 20, g: 2 ** 30 };
/** The least that an engine takes. */
const LEAST_MEMORY = 6 * 2 ** 20;

function parseMemory(memory: number | string): number {
  const [, digits = "", unit = ""] = /^(\d+(?:\.\d+)?)([bkmg]?)b?$/i.exec(String(memory)) ?? [];
  const bytes = Math.floor(Number(digits) * (UNITS[unit.toLowerCase()] ?? Number.NaN));
  demand(bytes >= LEAST_MEMORY, `memory is ${memory}; give bytes, or "512m", "2g": 6m and more.`);
  return bytes;
}

function parseCpus(cpus: number): number {
  demand(Number.isFinite(cpus) && cpus >= 0.01, `cpus is ${cpus}; give how many cores, 0.01 and more.`);
  return Math.round(cpus * 1e9);
}

function parseGpus(gpus: "all" | number | readonly string[]): Record<string, unknown> {
  const request = { Driver: "", Capabilities: [["gpu"]] };
  if (gpus === "all") return { ...request, Count: -1 };
  if (typeof gpus === "object") return { ...request, DeviceIDs: [...gpus] };
  demand(Number.isInteger(gpus) && gpus > 0, `gpus is ${gpus}; give "all", how many, or a list of ids.`);
  return { ...request, Count: gpus };
}

/** A mount, not a bind: a folder that is not there is an error and is not made by the engine as root. */
function parseVolume(text: string): Record<string, unknown> {
  const [, source = "", target = "", mode] = /^((?:[A-Za-z]:)?[^:]+):([^:]+)(?::(ro|rw))?$/.exec(text) ?? [];
  demand(target.startsWith("/"), `The volume ${text} is none; write source:/target or source:/target:ro.`);
  const isPath = isAbsolute(source) || source.startsWith(".");
  return {
    Type: isPath ? "bind" : "volume",
    Source: isPath ? resolve(source) : source,
    Target: target,
    ReadOnly: mode === "ro",
  };
}
