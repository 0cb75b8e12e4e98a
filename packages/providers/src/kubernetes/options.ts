import { ConfigError } from "openenv-ts";
import { rejectUnknown } from "../lifecycle/check-options.js";

/** Options of Pods. The defaults are those of the cluster. */
export interface KubernetesProviderOptions {
  /** Default: the namespace of the context. */
  namespace?: string | undefined;
  /** Path of a kubeconfig; default `KUBECONFIG`, `~/.kube/config`, or in a Pod its service account. */
  kubeconfig?: string | undefined;
  /** Default: the current context of the kubeconfig. */
  context?: string | undefined;
  /** Port inside the container; default 8000. */
  containerPort?: number | undefined;
  /**
   * The way to the Pods. `port-forward`: through the API server, from anywhere. `cluster-dns`, inside the
   * cluster: by the name of the Service; with `replicas`, this process connects to each Pod directly. An object:
   * through an Ingress with that host. Default `cluster-dns` in a Pod, else `port-forward`.
   */
  reach?: "port-forward" | "cluster-dns" | IngressOptions | undefined;
  /** A Kubernetes quantity (`512Mi`): memory request and limit of one Pod. */
  memory?: string | undefined;
  /** A Kubernetes quantity (`500m`, `2`): CPU request and limit of one Pod. */
  cpus?: string | undefined;
  /** NVIDIA GPUs of one Pod. */
  gpus?: number | undefined;
  /**
   * User id of the server; default 1000, as in images of `openenv init`. Pods then meet the Pod Security Standard
   * `restricted`. 0 is root, with the rights that the cluster grants.
   */
  runAsUser?: number | undefined;
  /** Node labels that Pods require. */
  nodeSelector?: Readonly<Record<string, string>> | undefined;
  /** Name of a RuntimeClass (`gvisor`). */
  runtimeClass?: string | undefined;
  /** Names of Secrets with registry credentials. */
  imagePullSecrets?: readonly string[] | undefined;
  /** Extra labels; names that begin with `openenv.` are reserved. */
  labels?: Readonly<Record<string, string>> | undefined;
}

export interface IngressOptions {
  /** Host name, with the controller's port if it is not the default: `envs.example.com:8080`. */
  ingressHost: string;
  /** Ingress class; default: the class of the cluster. */
  className?: string | undefined;
  /** Name of the Secret with the certificate; the URL is then https. */
  tlsSecret?: string | undefined;
}

const KNOWN = [
  "namespace",
  "kubeconfig",
  "context",
  "containerPort",
  "reach",
  "memory",
  "cpus",
  "gpus",
  "runAsUser",
  "nodeSelector",
  "runtimeClass",
  "imagePullSecrets",
  "labels",
] as const satisfies readonly (keyof KubernetesProviderOptions)[];

/** @throws ConfigError with the option and its allowed values. */
export function checkOptions(options: KubernetesProviderOptions): void {
  rejectUnknown("kubernetesProvider()", options, KNOWN);
  const { containerPort = 1, gpus = 1, labels = {}, reach, memory, cpus, runAsUser = 0 } = options;
  demand(isCount(containerPort, 65_535), `containerPort must be an integer from 1 to 65535, got ${containerPort}.`);
  demand(isCount(gpus, 1_000), `gpus must be an integer from 1 to 1000, got ${gpus}.`);
  const isUser = Number.isInteger(runAsUser) && runAsUser >= 0 && runAsUser < 2 ** 31;
  demand(isUser, `runAsUser must be a user id such as 1000, got ${runAsUser}.`);
  for (const [name, value] of Object.entries({ memory, cpus })) {
    const fits = value === undefined || /^\d+(\.\d+)?(m|k|M|G|T|Ki|Mi|Gi|Ti)?$/.test(value);
    demand(fits, `${name} must be a Kubernetes quantity such as "512Mi", "500m" or "2", got ${value}.`);
  }
  for (const name of Object.keys(labels)) {
    demand(!name.startsWith("openenv."), `The label ${name} is reserved. Use a name that does not begin with openenv.`);
  }
  if (typeof reach === "object") {
    rejectUnknown("reach of kubernetesProvider()", reach, ["ingressHost", "className", "tlsSecret"]);
    demand(
      /^[a-z0-9.-]+(:\d+)?$/.test(reach.ingressHost),
      `reach.ingressHost must be a host name with an optional port, got ${reach.ingressHost}.`,
    );
  } else {
    const ways = [undefined, "port-forward", "cluster-dns"];
    demand(ways.includes(reach), `reach must be port-forward, cluster-dns or { ingressHost }, got ${String(reach)}.`);
  }
}

function isCount(value: number, most: number): boolean {
  return Number.isInteger(value) && value >= 1 && value <= most;
}

function demand(condition: boolean, message: string): asserts condition {
  if (!condition) throw new ConfigError(message);
}
