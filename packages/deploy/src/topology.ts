import { isIP } from "node:net";
import { ConfigError } from "openenv-ts";
import { findNearest } from "openenv-ts/internal";
import * as z from "zod";
import { hasPassword, isSecretName } from "./secret-name.js";
import { BALANCERS } from "./targets.js";

/** The description of a deployment, from which `openenv deploy render` renders every file. */
export type Topology = z.infer<typeof topologySchema>;

/** A topology as input: keys with a default are optional. */
export type TopologyInput = z.input<typeof topologySchema>;

/** The address of a server of the deployment. */
export interface Backend {
  host: string;
  port: number;
}

/** True when the host is an IP address and not a DNS name, which may resolve to several. */
export function hasAddress({ host }: Backend): boolean {
  return isIP(host.replace(/^\[(.*)\]$/, "$1")) !== 0;
}

/** The number of sessions of one node. */
export function nodeCapacity({ workers, capacity }: Topology): number {
  return workers * capacity;
}

/** What the variable JOURNAL is: the address of a Redis, or the path of a file. */
export function readJournal({ variables }: Topology): { redis?: string; file?: string } {
  const value = variables["JOURNAL"] ?? "";
  if (value === "" || value === "memory") return {};
  return /^rediss?:/.test(value) ? { redis: value } : { file: value };
}

/**
 * Checks a topology and fills in the defaults.
 * @throws ConfigError with each invalid key and its allowed values.
 */
export function parseTopology(given: unknown): Topology {
  const parsed = topologySchema.safeParse(given);
  if (parsed.success) return parsed.data;
  const issues = parsed.error.issues.map(({ path, message }) => `${path.join(".") || "the topology"}: ${message}`);
  throw new ConfigError(`The topology is not valid. ${issues.join("; ")}.`);
}

/** @throws ConfigError unless it is `host:port`, with an IPv6 address in brackets. */
export function parseBackend(text: string): Backend {
  const [, host = "", port = ""] = HOST_PORT.exec(text) ?? [];
  if (host !== "" && Number(port) >= 1 && Number(port) <= 65_535) return { host, port: Number(port) };
  throw new ConfigError(`A backend must be host:port, such as 10.0.0.5:8000, got "${text.slice(0, 200)}".`);
}

const HOST_PORT = /^([A-Za-z0-9](?:[A-Za-z0-9.-]{0,252})|\[[0-9A-Fa-f:.]{2,45}\]):(\d{1,5})$/;
/** No characters with a meaning in a shell, YAML or a configuration language. */
const IMAGE = /^[A-Za-z0-9][A-Za-z0-9._/:@-]{0,299}$/;
const DIRECTORY = /^[A-Za-z0-9._/][A-Za-z0-9._/-]{0,999}$/;
const FOLDER = /^(?:\/(?!\.{1,2}(?:\/|$))[A-Za-z0-9._-]{1,255}){1,32}$/;
const WORD = /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/;
const LABEL_KEY = /^(?:[a-z0-9][a-z0-9.-]{0,252}\/)?[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/;
/** As in Kubernetes, a label may have an empty value (`node-role.kubernetes.io/worker: ""`). */
const LABEL_VALUE = /^(?:[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)?$/;

const count = (most: number, least = 1) =>
  z
    .int(`must be an integer from ${least} to ${most}`)
    .min(least, `must be at least ${least}`)
    .max(most, `must be at most ${most}`);
const word = z.string().regex(WORD, "must be letters, digits, dots, dashes and underscores, at most 63 characters");
const port = count(65_535);
const labelValue = z
  .string()
  .regex(LABEL_VALUE, "must be empty, or at most 63 letters, digits and ._-, with a letter or digit at both ends");
const labels = z.record(z.string().regex(LABEL_KEY, "is not a valid label key"), labelValue);

const toleration = group({
  key: z.string().regex(LABEL_KEY, "is not a valid taint key"),
  value: labelValue.optional(),
  effect: z.enum(["NoSchedule", "PreferNoSchedule", "NoExecute"]).optional(),
});

const resources = group({
  /** Cores. */
  cpus: z
    .number("must be a number of cores")
    .min(0.01, "must be at least 0.01")
    .max(1024, "must be at most 1024")
    .default(1),
  memoryMb: count(16_000_000, 16).default(1024),
  /** GPUs of one node. */
  gpus: count(64, 0).default(0),
});

const balancer = group({
  /** Default: envoy in Kubernetes, else haproxy. */
  kind: z.enum(BALANCERS, `must be one of ${BALANCERS.join(", ")}`).optional(),
  port: port.default(8080),
  /** The address it listens on. */
  host: z.union([z.ipv4(), z.literal("::")], "must be an IPv4 address, or :: for every address").default("0.0.0.0"),
  /** Port of `/metrics` for Prometheus, open to anyone who can reach it; without it there are no metrics. */
  metricsPort: port.optional(),
  /** Port of Envoy's admin interface on 127.0.0.1; default: 9901. */
  adminPort: port.optional(),
});

const slurm = group({
  partition: word.optional(),
  account: word.optional(),
  /** Minutes after which the scheduler ends the job. */
  minutes: count(525_600).default(240),
});

const topologySchema = group({
  /** Name of the services, labels and jobs. */
  name: z
    .string()
    .regex(/^[a-z](?:[a-z0-9-]{0,38}[a-z0-9])?$/, "must be lowercase letters, digits and dashes, at most 40 characters")
    .default("openenv"),
  image: z.string().regex(IMAGE, "is not a valid image name").optional(),
  /** Folder of the environment, for a target without an image (Slurm) or one that builds it (Compose). */
  directory: z.string().regex(DIRECTORY, "must be a path of letters, digits, dots, dashes and slashes").optional(),
  /** Dockerfile in the directory, for Compose. */
  dockerfile: z.string().regex(DIRECTORY, "must be a path inside the directory").default("server/Dockerfile"),
  nodes: count(10_000).default(1),
  /** Worker processes per node. */
  workers: count(1024).default(1),
  /** Sessions per worker. */
  capacity: count(1_000_000).default(100),
  /** Extra nodes that are started for peaks. */
  spareNodes: count(1_000, 0).default(0),
  /**
   * Largest number of nodes of the Kubernetes autoscaler; without it there is no autoscaler. Other targets have none.
   */
  maxNodes: count(10_000).optional(),
  /** The addresses (`host:port`) of servers that are started by hand: for a standalone balancer and for monitoring. */
  backends: z
    .array(z.string().regex(HOST_PORT, "must be host:port, such as 10.0.0.5:8000"))
    .max(10_000, "must be at most 10000")
    .default([]),
  /** The port of each server. */
  port: port.default(8000),
  balancer: balancer.prefault({}),
  resources: resources.prefault({}),
  nodeSelector: labels.default({}),
  tolerations: z.array(toleration).max(32, "must be at most 32").default([]),
  runtimeClass: word.optional(),
  /**
   * The journal in which sessions survive their server. `redis`: the target brings a Redis; `secret`: the servers get its
   * address as JOURNAL from the secrets of the target. Default: none.
   */
  journal: z.enum(["redis", "secret"], "must be one of redis, secret").optional(),
  /** Environment variables of each server. Not for secrets, because many people can read the files. */
  variables: z
    .record(
      z.string().regex(/^[A-Z_][A-Z0-9_]{0,99}$/, "is not a valid variable name"),
      z
        .string()
        .max(4_000)
        .regex(/^[^\p{Cc}$]*$/u, "must be text on one line without a dollar sign"),
    )
    .default({}),
  /** Folders that the environment writes to, besides /tmp. In Kubernetes the rest of the image is read-only. */
  writable: z
    .array(z.string().regex(FOLDER, "must be an absolute path below /, without . or .. in it"))
    .max(32, "must be at most 32")
    .default([]),
  /**
   * What the servers of Kubernetes may connect to. `public`: all but private and link-local addresses; the default. Other
   * targets restrict nothing.
   */
  egress: z.enum(["none", "public", "all"], "must be one of none, public, all").optional(),
  /** Host name of the Kubernetes Ingress; without it there is no Ingress. */
  ingressHost: z
    .string()
    .regex(/^[a-z0-9][a-z0-9.-]{0,251}[a-z0-9]$/, "is not a valid host name")
    .optional(),
  /** Seconds for sessions to finish when their node is stopped. */
  graceSeconds: count(86_400, 0).default(30),
  slurm: slurm.prefault({}),
}).superRefine((topology, context) => {
  const refuse = (path: string, message: string): void => {
    context.addIssue({ code: "custom", path: [path], message });
  };
  if (topology.image !== undefined && topology.directory !== undefined) {
    refuse("image", "give an image or a directory, not both");
  }
  if (topology.balancer.metricsPort === topology.balancer.port) {
    refuse("balancer", "metricsPort must differ from port");
  }
  if (topology.maxNodes !== undefined && topology.maxNodes < topology.nodes + topology.spareNodes) {
    refuse("maxNodes", `must be at least nodes plus spareNodes, which is ${topology.nodes + topology.spareNodes}`);
  }
  for (const [name, value] of Object.entries(topology.variables)) {
    if (hasPassword(value)) {
      const instead = name === "JOURNAL" ? 'use the key journal: "secret"' : "use the secrets of the target";
      refuse("variables", `${name} is a URL with a password: ${instead}`);
    }
    if (isSecretName(name)) refuse("variables", `${name} looks like a secret: use the secrets of the target`);
    const key = name === "JOURNAL" && topology.journal === undefined ? undefined : OWN_VARIABLES[name];
    // The balancer is sized by the key and would not see the variable.
    if (key !== undefined) refuse("variables", `${name} is set by ${key}: use that key`);
  }
});

/** An object with exactly these keys; errors suggest the nearest key. */
function group<T extends z.core.$ZodLooseShape>(shape: T) {
  return z.strictObject(shape, {
    error: (issue) => {
      if (issue.code !== "unrecognized_keys") return undefined;
      return issue.keys.map((key) => describeUnknown(key, Object.keys(shape))).join(", ");
    },
  });
}

function describeUnknown(key: string, known: readonly string[]): string {
  const nearest = findNearest(key, known);
  const hint = nearest === undefined ? `the keys are ${known.join(", ")}` : `did you mean ${nearest}?`;
  return `unknown key ${JSON.stringify(key.slice(0, 100))} (${hint})`;
}

/** The topology key that sets each of these server variables. */
const OWN_VARIABLES: Record<string, string | undefined> = {
  PORT: "port",
  WORKERS: "workers",
  MAX_CONCURRENT_ENVS: "capacity",
  SHUTDOWN_DRAIN: "graceSeconds",
  SHUTDOWN_GRACE: "graceSeconds",
  JOURNAL: "journal",
};
