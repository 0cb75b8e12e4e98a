import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { V1Pod } from "@kubernetes/client-node";
import { ConfigError, type ProviderError } from "../../errors.js";
import type { Acquired, Start } from "../acquired.js";
import { refuseSource } from "../check-options.js";
import { guard } from "../guard.js";
import type { Provider, Started, StartSpec } from "../provider.js";
import { waitReady } from "../ready.js";
import { startEnvironment } from "../start.js";
import { createBalancer } from "../swarm/balancer.js";
import { ask, type Cluster, findCluster } from "./cluster.js";
import { createForwarder, type Forwarder } from "./forwarder.js";
import { renderDeployment, renderIngress, renderPod, renderSecret, renderService, type Workload } from "./manifests.js";
import { checkOptions, type KubernetesProviderOptions } from "./options.js";
import { describePod, findFailure, isRunning } from "./pod-state.js";

/**
 * Starts an image in a Kubernetes cluster: a Pod, or with `replicas` a Deployment, and a Service in front. Needs the
 * package `@kubernetes/client-node`. What was made carries our labels; it is removed by `close()`, and when this process
 * ends, whatever ends that.
 * @throws ConfigError for an option that it does not have or that is wrong.
 * @example
 * await using server = await kubernetesProvider({ memory: "512Mi" }).start({ image: "registry/echo-env", replicas: 4 });
 * await using env = await connect(server.url, echo);
 */
export function kubernetesProvider(options: KubernetesProviderOptions = {}): Provider {
  checkOptions(options);
  const recipe = { module: import.meta.url, make: "kubernetesProvider", options };
  return { name: NAME, recipe, hasReplicas: true, start: (spec) => startWorkload(spec, options) };
}

const NAME = "kubernetes";
const DEFAULT_PORT = 8_000;
const MAX_REPLICAS = 10_000;
const POLL_MS = 500;
/** A list of many Pods is megabytes of work for the API server: each of them makes the next question come later. */
const POLL_MS_PER_POD = 5;
const SHOWN_LOG_LINES = 500;
const SWEEP = new URL("./sweep.js", import.meta.url).href;

async function startWorkload(spec: StartSpec, options: KubernetesProviderOptions): Promise<Started> {
  if (!("image" in spec)) refuseSource(NAME, "an image", "build and push one from the folder (`openenv push`)");
  const { image, env = {}, replicas } = spec;
  if (replicas !== undefined && !(Number.isInteger(replicas) && replicas >= 1 && replicas <= MAX_REPLICAS)) {
    throw new ConfigError(`replicas is ${replicas}; give a whole number from 1 to ${MAX_REPLICAS}.`);
  }
  const { kubeconfig, context, namespace, containerPort: port = DEFAULT_PORT } = options;
  return startEnvironment(NAME, spec, async (start) => {
    const cluster = await findCluster(options);
    const workload: Workload = { name: nameFor(image), image, env, replicas, port, options };
    const { name } = workload;
    start.progress(`creating ${name} in the namespace ${cluster.namespace}`);
    const at = { kubeconfig, context, namespace };
    start.onRelease(guard({ module: SWEEP, make: "createKubernetesSweeper", options: at }));
    start.onRelease(() => cluster.removeAll(name));
    await createAll(cluster, workload);
    const logs = () => readLogs(cluster, name);
    start.running({ logs });
    const pods = await waitForPods(cluster, workload, start);
    const ended = async (signal: AbortSignal): Promise<string> => (await waitForFailure(cluster, name, signal)).message;
    return { url: await reach(cluster, workload, { pods, start, ended }), logs, ended };
  });
}

/** A name that a Service may have as well. */
function nameFor(image: string): string {
  const [base = ""] = (image.split("/").at(-1) ?? "").toLowerCase().split(/[:@]/);
  return `openenv-${base.replaceAll(/[^a-z0-9]+/g, "-").slice(0, 40)}-${randomBytes(4).toString("hex")}`;
}

/** The Service first: by it everything is found again. */
async function createAll({ namespace, core, apps, networking }: Cluster, workload: Workload): Promise<void> {
  const { reach: way } = workload.options;
  await ask(core.createNamespacedService({ namespace, body: renderService(workload) }));
  if (Object.keys(workload.env).length > 0) {
    await ask(core.createNamespacedSecret({ namespace, body: renderSecret(workload) }));
  }
  if (typeof way === "object") {
    await ask(networking.createNamespacedIngress({ namespace, body: renderIngress(workload, way) }));
  }
  if (workload.replicas === undefined) await ask(core.createNamespacedPod({ namespace, body: renderPod(workload) }));
  else await ask(apps.createNamespacedDeployment({ namespace, body: renderDeployment(workload) }));
}

async function waitForPods(cluster: Cluster, { name, replicas = 1 }: Workload, start: Start): Promise<V1Pod[]> {
  for (let told = ""; ; ) {
    const pods = await cluster.listPods(name);
    const failure = pods.map(findFailure).find(Boolean);
    if (failure) throw failure;
    const running = pods.filter(isRunning);
    if (running.length >= replicas) return running;
    const waiting = pods.find((pod) => !isRunning(pod));
    const stage = `${running.length} of ${replicas} Pods run${waiting ? `: one is ${describePod(waiting)}` : ""}`;
    if (stage !== told) start.progress(stage);
    told = stage;
    await sleep(pause(pods), undefined, { signal: start.signal });
  }
}

async function waitForFailure(cluster: Cluster, name: string, signal: AbortSignal): Promise<ProviderError> {
  for (;;) {
    const pods = await cluster.listPods(name);
    const failure = pods.map(findFailure).find(Boolean);
    if (failure) return failure;
    await sleep(pause(pods), undefined, { signal });
  }
}

function pause(pods: readonly V1Pod[]): number {
  return POLL_MS + POLL_MS_PER_POD * pods.length;
}

interface Reaching {
  pods: readonly V1Pod[];
  start: Start;
  ended: NonNullable<Acquired["ended"]>;
}

/** The URL, once every Pod has answered a reset as far as this process can ask it. */
async function reach(cluster: Cluster, workload: Workload, { pods, start, ended }: Reaching): Promise<string> {
  const { name, port, options } = workload;
  const logs = () => readLogs(cluster, name);
  const all = async (urls: readonly string[]): Promise<void> => {
    const done = new AbortController();
    // One for all of them: each would list every Pod.
    const failure = ended(AbortSignal.any([start.signal, done.signal]));
    try {
      await Promise.all(urls.map((url) => waitReady({ url, logs, ended: () => failure }, start.signal)));
    } finally {
      done.abort();
      await failure.catch(() => {});
    }
  };
  const way = options.reach ?? (process.env["KUBERNETES_SERVICE_HOST"] ? "cluster-dns" : "port-forward");
  start.progress(`waiting for the answer to a reset of all ${pods.length} Pods`);
  if (typeof way === "object") return `${way.tlsSecret ? "https" : "http"}://${way.ingressHost}`;
  if (way === "cluster-dns") {
    await all(pods.map((pod) => `http://${pod.status?.podIP}:${port}`));
    return `http://${name}.${cluster.namespace}.svc:${port}`;
  }
  const balancer = await createBalancer();
  start.onRelease(() => balancer.close());
  const forwarders = new Map<string, Forwarder>();
  const use = async (present: readonly V1Pod[]): Promise<void> => {
    const names = present.map((pod) => pod.metadata?.name ?? "");
    for (const pod of names) {
      if (!forwarders.get(pod)?.open) forwarders.set(pod, await createForwarder(cluster, pod, port));
    }
    for (const [pod, forwarder] of forwarders) {
      if (names.includes(pod)) continue;
      forwarders.delete(pod);
      await forwarder.close();
    }
    balancer.use([...forwarders].map(([id, forwarder]) => ({ id, host: "127.0.0.1", port: forwarder.port })));
  };
  const follower = new AbortController();
  start.onRelease(async () => {
    follower.abort();
    for (const forwarder of forwarders.values()) await forwarder.close();
  });
  await use(pods);
  await all([...forwarders.values()].map((forwarder) => `http://127.0.0.1:${forwarder.port}`));
  if (workload.replicas !== undefined) void follow(cluster, name, { signal: follower.signal, use, pods });
  return balancer.url;
}

interface Following {
  pods: readonly V1Pod[];
  signal: AbortSignal;
  use(pods: readonly V1Pod[]): Promise<void>;
}

/** A Deployment replaces its Pods: new ones get sessions once their probe says that they are ready. */
async function follow(cluster: Cluster, name: string, { signal, use, pods: first }: Following): Promise<void> {
  for (let known = first; !signal.aborted; ) {
    await sleep(pause(known), undefined, { signal, ref: false }).catch(() => {});
    const pods = await cluster.listPods(name).catch(() => undefined);
    if (!pods || signal.aborted) continue;
    known = pods;
    const isReady = (pod: V1Pod): boolean =>
      pod.status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True") ?? false;
    await use(pods.filter((pod) => isRunning(pod) && isReady(pod)));
  }
}

/** What the Pods wrote; at the end why one of them has failed. */
async function readLogs(cluster: Cluster, name: string): Promise<string> {
  const pods = await cluster.listPods(name);
  const texts = await Promise.all(
    pods.map(({ metadata }) =>
      cluster.core
        .readNamespacedPodLog({
          name: metadata?.name ?? "",
          namespace: cluster.namespace,
          tailLines: SHOWN_LOG_LINES,
        })
        .catch(() => ""),
    ),
  );
  const failures = pods.map(findFailure).flatMap((failure) => (failure ? [`${failure.message}\n`] : []));
  return [...texts, ...failures].join("");
}
