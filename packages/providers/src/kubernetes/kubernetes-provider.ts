import { randomBytes } from "node:crypto";
import { checkReplicas, rejectSource } from "../lifecycle/check-options.js";
import { makeRemovable } from "../lifecycle/make-removable.js";
import { startEnvironment } from "../lifecycle/start.js";
import { registerOrphans } from "../orphans/reaper.js";
import type { Provider, StartedServer, StartSpec } from "../provider.js";
import { ask, findKubernetesCluster, type KubernetesCluster } from "./cluster.js";
import {
  hostOf,
  type KubernetesWorkload,
  renderDeployment,
  renderIngress,
  renderPod,
  renderSecret,
  renderService,
} from "./manifests.js";
import { checkOptions, type KubernetesProviderOptions } from "./options.js";
import { readLogs, waitForEnd, waitForPods } from "./pods.js";
import { reach } from "./reach.js";

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
  const descriptor = { module: import.meta.url, factory: "kubernetesProvider", options };
  return { name: NAME, descriptor, hasReplicas: true, start: (spec) => startWorkload(spec, options) };
}

const NAME = "kubernetes";
const DEFAULT_PORT = 8_000;
const MAX_REPLICAS = 10_000;
const ORPHANS = {
  module: new URL("./orphans.js", import.meta.url).href,
  factory: "createKubernetesOrphanFinder" satisfies keyof typeof import("./orphans.js"),
};

async function startWorkload(spec: StartSpec, options: KubernetesProviderOptions): Promise<StartedServer> {
  if (!("image" in spec)) rejectSource(NAME, "an image", "build and push one from the folder (`openenv push`)");
  const { image, replicas } = spec;
  if (replicas !== undefined) checkReplicas(replicas, 1, MAX_REPLICAS);
  const { containerPort: port = DEFAULT_PORT, reach: way } = options;
  // A page may use the server under the name that the Ingress publishes.
  const published = typeof way === "object" ? { ALLOWED_HOSTS: hostOf(way) } : {};
  const env = { ...published, ...spec.env };
  return startEnvironment(NAME, spec, async (start) => {
    const cluster = await findKubernetesCluster(options);
    const workload: KubernetesWorkload = { name: nameFor(image), image, env, replicas, port, options };
    const { name } = workload;
    start.progress(`creating ${name} in the namespace ${cluster.namespace}`);
    start.onCleanup(registerOrphans({ ...ORPHANS, options: cluster.at }));
    await makeRemovable(
      start,
      () => createAll(cluster, workload, start.signal),
      () => cluster.removeAll(name),
    );
    const logs = () => readLogs(cluster, name);
    start.running({ logs });
    const pods = await waitForPods(cluster, workload, start);
    const ended = (signal: AbortSignal): Promise<string> => waitForEnd(cluster, workload, signal);
    return { url: await reach(cluster, workload, { pods, start, logs, ended }), logs, ended };
  });
}

/** A name that a Service may have as well. */
function nameFor(image: string): string {
  const [base = ""] = (image.split("/").at(-1) ?? "").toLowerCase().split(/[:@]/);
  return `openenv-${base.replaceAll(/[^a-z0-9]+/g, "-").slice(0, 40)}-${randomBytes(4).toString("hex")}`;
}

/** The Service first: by it everything is found again. */
async function createAll(cluster: KubernetesCluster, workload: KubernetesWorkload, signal: AbortSignal): Promise<void> {
  const { namespace, core, apps, networking } = cluster;
  const { reach: way } = workload.options;
  const steps: (() => Promise<unknown>)[] = [
    () => core.createNamespacedService({ namespace, body: renderService(workload) }),
  ];
  if (Object.keys(workload.env).length > 0) {
    steps.push(() => core.createNamespacedSecret({ namespace, body: renderSecret(workload) }));
  }
  if (typeof way === "object") {
    steps.push(() => networking.createNamespacedIngress({ namespace, body: renderIngress(workload, way) }));
  }
  if (workload.replicas === undefined) {
    steps.push(() => core.createNamespacedPod({ namespace, body: renderPod(workload) }));
  } else {
    steps.push(() => apps.createNamespacedDeployment({ namespace, body: renderDeployment(workload) }));
  }
  for (const step of steps) {
    signal.throwIfAborted();
    await ask(step());
  }
}
