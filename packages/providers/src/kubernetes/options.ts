import { ConfigError } from "openenv-ts/internal";
import { rejectUnknown } from "../lifecycle/check-options.js";

/** How Pods are started; what is left out is as the cluster has it. */
export interface KubernetesProviderOptions {
  /** Default that of the context. */
  namespace?: string | undefined;
  /** A kubeconfig; default `KUBECONFIG`, `~/.kube/config`, or in a Pod its service account. */
  kubeconfig?: string | undefined;
  /** Default the current one of the kubeconfig. */
  context?: string | undefined;
  /** Port inside the container; default 8000. */
  containerPort?: number | undefined;
  /**
   * How this process gets there. `port-forward`: through the API server, from anywhere. `cluster-dns`, from inside: by
   * the name of the Service, and with `replicas` straight to each Pod, from an address of this process. Or an Ingress of
   * that host. Default `cluster-dns` in a Pod, else `port-forward`.
   */
  reach?: "port-forward" | "cluster-dns" | IngressOptions | undefined;
  /** As Kubernetes writes it (`512Mi`): request and limit of one Pod. */
  memory?: string | undefined;
  /** As Kubernetes writes it (`500m`, `2`): request and limit of one Pod. */
  cpus?: string | undefined;
  /** NVIDIA GPUs of one Pod. */
  gpus?: number | undefined;
  /**
   * Number of the user that the server is; default 1000, as in images of `openenv init`. Pods then fit the Pod Security
   * Standard `restricted`. 0 is root, with the rights that the cluster gives.
   */
  runAsUser?: number | undefined;
  /** Labels of nodes that Pods may go to. */
  nodeSelector?: Readonly<Record<string, string>> | undefined;
  /** Name of a RuntimeClass (`gvisor`). */
  runtimeClass?: string | undefined;
  /** Names of Secrets with the login of a registry. */
  imagePullSecrets?: readonly string[] | undefined;
  /** Own labels; names that begin with `openenv.` are taken. */
  labels?: Readonly<Record<string, string>> | undefined;
}

export interface IngressOptions {
  /** A name, with the port of the controller where that is not the usual one: `envs.example.com:8080`. */
  ingressHost: string;
  /** Default that of the cluster. */
  className?: string | undefined;
  /** Name of the Secret with the certificate; then the URL is https. */
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

/** @throws ConfigError that names the option and what is allowed. */
export function checkOptions(options: KubernetesProviderOptions): void {
  rejectUnknown("kubernetesProvider()", options, KNOWN);
  const { containerPort = 1, gpus = 1, labels = {}, reach, memory, cpus, runAsUser = 0 } = options;
  demand(isCount(containerPort, 65_535), `containerPort is ${containerPort}; give a whole number from 1 to 65535.`);
  demand(isCount(gpus, 1_000), `gpus is ${gpus}; give how many.`);
  const isUser = Number.isInteger(runAsUser) && runAsUser >= 0 && runAsUser < 2 ** 31;
  demand(isUser, `runAsUser is ${runAsUser}; give the number of a user, such as 1000.`);
  for (const [name, value] of Object.entries({ memory, cpus })) {
    const fits = value === undefined || /^\d+(\.\d+)?(m|k|M|G|T|Ki|Mi|Gi|Ti)?$/.test(value);
    demand(fits, `${name} is ${value}; write it as Kubernetes does: "512Mi", "500m", "2".`);
  }
  for (const name of Object.keys(labels)) {
    demand(!name.startsWith("openenv."), `The label ${name} is taken: names that begin with openenv. are our own.`);
  }
  if (typeof reach === "object") {
    rejectUnknown("reach of kubernetesProvider()", reach, ["ingressHost", "className", "tlsSecret"]);
    demand(
      /^[a-z0-9.-]+(:\d+)?$/.test(reach.ingressHost),
      `reach.ingressHost is ${reach.ingressHost}; give the name of a host, with a port if need be.`,
    );
  } else {
    const ways = [undefined, "port-forward", "cluster-dns"];
    demand(ways.includes(reach), `reach is ${String(reach)}; give port-forward, cluster-dns or { ingressHost }.`);
  }
}

function isCount(value: number, most: number): boolean {
  return Number.isInteger(value) && value >= 1 && value <= most;
}

function demand(condition: boolean, message: string): asserts condition {
  if (!condition) throw new ConfigError(message);
}
