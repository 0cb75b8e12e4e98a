import type {
  V1Deployment,
  V1Ingress,
  V1ObjectMeta,
  V1Pod,
  V1PodSpec,
  V1Secret,
  V1Service,
} from "@kubernetes/client-node";
import { IMAGE_STOP_VARIABLES, SERVER_USER, stopSeconds, unprivileged, WITHOUT_RIGHTS } from "@openenv-ts/deploy";
import { MARK, renderLabels } from "../docker/labels.js";
import { OWNER } from "../orphans/owner.js";
import type { StartOptions } from "../provider.js";
import type { IngressOptions, KubernetesProviderOptions } from "./options.js";

/** The resources of one start, under one name. */
export interface KubernetesWorkload {
  name: string;
  image: string;
  env: NonNullable<StartOptions["env"]>;
  /** Undefined for a Pod, a number for a Deployment. */
  replicas: number | undefined;
  port: number;
  options: KubernetesProviderOptions;
}

/** Label of all resources of one start. */
export const NAME_LABEL = "openenv.name";
/** Name of our container: the cluster may add others to a Pod. */
export const CONTAINER = "environment";

export function renderService({ port, ...workload }: KubernetesWorkload): V1Service {
  const { name } = workload;
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: renderMeta(workload),
    spec: { selector: { [NAME_LABEL]: name }, ports: [{ port, targetPort: port }] },
  };
}

/** Variables are in a Secret, because more people may read a Pod. */
export function renderSecret(workload: KubernetesWorkload): V1Secret {
  return { apiVersion: "v1", kind: "Secret", metadata: renderMeta(workload), stringData: { ...workload.env } };
}

/** A Pod that ended stays, so that the reason can be read. */
export function renderPod(workload: KubernetesWorkload): V1Pod {
  const spec: V1PodSpec = { ...renderPodSpec(workload), restartPolicy: "Never" };
  return { apiVersion: "v1", kind: "Pod", metadata: renderMeta(workload), spec };
}

export function renderDeployment(workload: KubernetesWorkload): V1Deployment {
  const metadata = renderMeta(workload);
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata,
    spec: {
      ...(workload.replicas !== undefined && { replicas: workload.replicas }),
      selector: { matchLabels: { [NAME_LABEL]: workload.name } },
      template: { metadata: { labels: metadata.labels ?? {} }, spec: renderPodSpec(workload) },
    },
  };
}

/** WebSockets stay open as long as an episode. */
const INGRESS_SECONDS = "3600";

export function renderIngress(workload: KubernetesWorkload, ingress: IngressOptions): V1Ingress {
  const { className, tlsSecret } = ingress;
  const { name, port } = workload;
  const host = hostOf(ingress);
  const { annotations, ...metadata } = renderMeta(workload);
  const timeouts = Object.fromEntries(
    ["read", "send"].map((way) => [`nginx.ingress.kubernetes.io/proxy-${way}-timeout`, INGRESS_SECONDS]),
  );
  return {
    apiVersion: "networking.k8s.io/v1",
    kind: "Ingress",
    metadata: { ...metadata, annotations: { ...annotations, ...timeouts } },
    spec: {
      ...(className && { ingressClassName: className }),
      ...(tlsSecret && { tls: [{ hosts: [host], secretName: tlsSecret }] }),
      rules: [
        {
          host,
          http: { paths: [{ path: "/", pathType: "Prefix", backend: { service: { name, port: { number: port } } } }] },
        },
      ],
    },
  };
}

/** The host name without the port, which belongs to the controller. */
export function hostOf({ ingressHost }: IngressOptions): string {
  return ingressHost.replace(/:\d+$/, "");
}

function renderMeta({ name, image, options }: Omit<KubernetesWorkload, "port">): V1ObjectMeta {
  return {
    name,
    labels: { ...options.labels, [MARK]: OWNER.id, [NAME_LABEL]: name },
    // Labels do not allow all characters of an image name.
    annotations: renderLabels("kubernetes", image),
  };
}

function renderPodSpec({ name, image, env, port, options }: KubernetesWorkload): V1PodSpec {
  const { memory, cpus, gpus, nodeSelector, runtimeClass, imagePullSecrets, runAsUser: user = SERVER_USER } = options;
  const limits = {
    ...(memory && { memory }),
    ...(cpus && { cpu: cpus }),
    ...(gpus !== undefined && { "nvidia.com/gpu": String(gpus) }),
  };
  // The variables of the image cannot be read from here, so the Pod sets them.
  const names = Object.keys(IMAGE_STOP_VARIABLES);
  const stop = Object.entries({ ...IMAGE_STOP_VARIABLES, ...env }).filter(([key]) => names.includes(key));
  return {
    terminationGracePeriodSeconds: stopSeconds(Object.fromEntries(stop)),
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    // The first process is then the Pod's pause process, which reaps zombies; not every image has an init process.
    shareProcessNamespace: true,
    securityContext: user > 0 ? unprivileged(user) : { runAsUser: user },
    ...(nodeSelector && { nodeSelector: { ...nodeSelector } }),
    ...(runtimeClass && { runtimeClassName: runtimeClass }),
    ...(imagePullSecrets && { imagePullSecrets: imagePullSecrets.map((secret) => ({ name: secret })) }),
    containers: [
      {
        name: CONTAINER,
        image,
        ports: [{ containerPort: port }],
        env: stop.map(([key, value]) => ({ name: key, value })),
        ...(Object.keys(env).length > 0 && { envFrom: [{ secretRef: { name } }] }),
        ...(Object.keys(limits).length > 0 && { resources: { limits, requests: limits } }),
        ...(user > 0 && { securityContext: WITHOUT_RIGHTS }),
        readinessProbe: { httpGet: { path: "/health", port }, periodSeconds: 1, failureThreshold: 30 },
      },
    ],
  };
}
