import { isIP } from "node:net";
import { ConfigError, findNearest, isSecretName } from "openenv-ts/internal";
import * as z from "zod";
import { BALANCERS } from "./targets.js";

/** How an environment is deployed: every file of `openenv deploy render` is rendered from this one description. */
export type Topology = z.infer<typeof topologySchema>;

/** A topology as it is written: what has a default may be left out. */
export type TopologyInput = z.input<typeof topologySchema>;

/** Where one server of the deployment listens. */
export interface Backend {
  host: string;
  port: number;
}

/** Whether it is an address, and no name that may stand for many of them. */
export function hasAddress({ host }: Backend): boolean {
  return isIP(host.replace(/^\[(.*)\]$/, "$1")) !== 0;
}

/** Sessions that one node takes. */
export function nodeCapacity({ workers, capacity }: Topology): number {
  return workers * capacity;
}

/**
 * Checks a topology and fills in what was left out.
 * @throws ConfigError that names each key that is wrong and what it may be.
 */
export function parseTopology(given: unknown): Topology {
  const parsed = topologySchema.safeParse(given);
  if (parsed.success) return parsed.data;
  const issues = parsed.error.issues.map(({ path, message }) => `${path.join(".") || "the topology"}: ${message}`);
  throw new ConfigError(`The topology is wrong. ${issues.join("; ")}.`);
}

/** @throws ConfigError unless it is `host:port`; an IPv6 address stands in brackets. */
export function parseBackend(text: string): Backend {
  const [, host = "", port = ""] = HOST_PORT.exec(text) ?? [];
  if (host !== "" && Number(port) >= 1 && Number(port) <= 65_535) return { host, port: Number(port) };
  throw new ConfigError(`A backend is host:port, such as 10.0.0.5:8000, not "${text.slice(0, 200)}".`);
}

const HOST_PORT = /^([A-Za-z0-9](?:[A-Za-z0-9.-]{0,252})|\[[0-9A-Fa-f:.]{2,45}\]):(\d{1,5})$/;
/** Nothing that a shell, YAML or one of the configuration languages takes for its own. */
const IMAGE = /^[A-Za-z0-9][A-Za-z0-9._/:@-]{0,299}$/;
const DIRECTORY = /^[A-Za-z0-9._/][A-Za-z0-9._/-]{0,999}$/;
const WORD = /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/;
const LABEL_KEY = /^(?:[a-z0-9][a-z0-9.-]{0,252}\/)?[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/;
/** As Kubernetes has it: a label may stand for itself (`node-role.kubernetes.io/worker: ""`). */
const LABEL_VALUE = /^(?:[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)?$/;

const count = (most: number, least = 1) =>
  z.int(`give a whole number from ${least} to ${most}`).min(least, `at least ${least}`).max(most, `at most ${most}`);
const word = z.string().regex(WORD, "letters, digits, dots, dashes and underscores, at most 63");
const port = count(65_535);
const labelValue = z
  .string()
  .regex(LABEL_VALUE, "nothing, or at most 63 letters, digits and ._- between, with a letter or digit at both ends");
const labels = z.record(z.string().regex(LABEL_KEY, "no key of a label"), labelValue);

const toleration = group({
  key: z.string().regex(LABEL_KEY, "no key of a taint"),
  value: labelValue.optional(),
  effect: z.enum(["NoSchedule", "PreferNoSchedule", "NoExecute"]).optional(),
});

const resources = group({
  /** Cores. */
  cpus: z.number("give a number of cores").min(0.01, "at least 0.01").max(1024, "at most 1024").default(1),
  memoryMb: count(16_000_000, 16).default(1024),
  /** Whole GPUs of one node; a container each is the usual way. */
  gpus: count(64, 0).default(0),
});

const balancer = group({
  /** By default envoy in Kubernetes, else haproxy. */
  kind: z.enum(BALANCERS, `must be one of ${BALANCERS.join(", ")}`).optional(),
  port: port.default(8080),
  /** The address it listens on. */
  host: z.union([z.ipv4(), z.literal("::")], "an IPv4 address, or :: for every address").default("0.0.0.0"),
  /** Where it answers `/metrics` to Prometheus, to any caller; without one it has none. */
  metricsPort: port.optional(),
});

const slurm = group({
  partition: word.optional(),
  account: word.optional(),
  /** Minutes after which the scheduler ends the job. */
  minutes: count(525_600).default(240),
});

const topologySchema = group({
  /** Names what is deployed: services, labels, jobs. */
  name: z
    .string()
    .regex(/^[a-z](?:[a-z0-9-]{0,38}[a-z0-9])?$/, "lower-case letters, digits and dashes, at most 40")
    .default("openenv"),
  image: z.string().regex(IMAGE, "no name of an image").optional(),
  /** Folder of the environment, for what needs no image (Slurm) or builds one (Compose). */
  directory: z.string().regex(DIRECTORY, "a path of letters, digits, dots, dashes and slashes").optional(),
  /** What Compose builds the directory with, in the directory. */
  dockerfile: z.string().regex(DIRECTORY, "a path inside the directory").default("server/Dockerfile"),
  nodes: count(10_000).default(1),
  /** Processes a node. */
  workers: count(1024).default(1),
  /** Sessions a worker. */
  capacity: count(1_000_000).default(100),
  /** Nodes more than the load needs, started and waiting for a rush. */
  spareNodes: count(1_000, 0).default(0),
  /** Kubernetes may grow to this many nodes; without it there is no autoscaler, and other targets never have one. */
  maxNodes: count(10_000).optional(),
  /** The port of each server. */
  port: port.default(8000),
  balancer: balancer.prefault({}),
  resources: resources.prefault({}),
  nodeSelector: labels.default({}),
  tolerations: z.array(toleration).max(32, "at most 32").default([]),
  runtimeClass: word.optional(),
  /** Variables of each server; no place for secrets, since the files are read by many. */
  variables: z
    .record(
      z.string().regex(/^[A-Z_][A-Z0-9_]{0,99}$/, "no name of a variable"),
      z
        .string()
        .max(4_000)
        .regex(/^[^\p{Cc}$]*$/u, "text on one line without a dollar sign"),
    )
    .default({}),
  /** The name under which Kubernetes publishes it; without one there is no Ingress. */
  ingressHost: z
    .string()
    .regex(/^[a-z0-9][a-z0-9.-]{0,251}[a-z0-9]$/, "no host name")
    .optional(),
  /** Seconds that sessions get to finish when their node is stopped. */
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
    refuse("balancer", "metricsPort is another port than port");
  }
  if (topology.maxNodes !== undefined && topology.maxNodes < topology.nodes + topology.spareNodes) {
    refuse("maxNodes", `at least nodes and spareNodes together, which is ${topology.nodes + topology.spareNodes}`);
  }
  for (const name of Object.keys(topology.variables)) {
    if (isSecretName(name)) refuse("variables", `${name} looks like a secret: give it by the means of the target`);
    const key = OWN_VARIABLES[name];
    // The balancer would not know.
    if (key !== undefined) refuse("variables", `${name} is what ${key} says: set that`);
  }
});

/** Has these keys alone, and says which one a wrong one was meant to be. */
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
  return `no key ${JSON.stringify(key.slice(0, 100))} (${hint})`;
}

/** The key of the topology that each of these variables of a server comes from. */
const OWN_VARIABLES: Record<string, string | undefined> = {
  PORT: "port",
  WORKERS: "workers",
  MAX_CONCURRENT_ENVS: "capacity",
  SHUTDOWN_DRAIN: "graceSeconds",
  SHUTDOWN_GRACE: "graceSeconds",
};
