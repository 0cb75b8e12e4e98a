import { setTimeout as sleep } from "node:timers/promises";
import type { V1Pod } from "@kubernetes/client-node";
import { type BalancedServer, balanceReady } from "../balancer.js";
import type { AcquiredServer, StartContext } from "../lifecycle/start-context.js";
import type { KubernetesCluster } from "./cluster.js";
import { createForwarder, type Forwarder } from "./forwarder.js";
import type { KubernetesWorkload } from "./manifests.js";
import { isReady, isRunning, pollPause } from "./pod-state.js";

interface Reaching extends Required<Pick<AcquiredServer, "logs" | "ended">> {
  pods: readonly V1Pod[];
  start: StartContext;
}

/** Returns the URL once every Pod that this process can reach has answered a reset. */
export async function reach(
  cluster: KubernetesCluster,
  workload: KubernetesWorkload,
  reaching: Reaching,
): Promise<string> {
  const { name, port, replicas, options } = workload;
  const { pods, start } = reaching;
  const way = options.reach ?? (process.env["KUBERNETES_SERVICE_HOST"] ? "cluster-dns" : "port-forward");
  if (typeof way === "object") return `${way.tlsSecret ? "https" : "http"}://${way.ingressHost}`;
  if (way === "cluster-dns" && replicas === undefined) return `http://${name}.${cluster.namespace}.svc:${port}`;
  const ways = way === "cluster-dns" ? createDirectWays(port) : createForwardedWays(cluster, port);
  const follower = new AbortController();
  start.onCleanup(async () => {
    follower.abort();
    await ways.close();
  });
  const balancer = await balanceReady(start, await ways.to(pods), reaching);
  const use = async (present: readonly V1Pod[]): Promise<void> => balancer.use(await ways.to(present));
  if (replicas !== undefined) void follow(cluster, name, { signal: follower.signal, use, pods });
  return balancer.url;
}

/** The ways from this process to Pods. */
interface Ways {
  /** Returns the addresses of these Pods; connections to other Pods are closed. */
  to(pods: readonly V1Pod[]): Promise<BalancedServer[]>;
  close(): Promise<void>;
}

function createDirectWays(port: number): Ways {
  return {
    to: async (pods) => pods.map((pod) => ({ id: nameOf(pod), host: pod.status?.podIP ?? "", port })),
    close: async () => {},
  };
}

function createForwardedWays(cluster: KubernetesCluster, port: number): Ways {
  const forwarders = new Map<string, Forwarder>();
  let isClosed = false;
  const keep = async (names: readonly string[]): Promise<void> => {
    for (const [pod, forwarder] of forwarders) {
      if (names.includes(pod)) continue;
      forwarders.delete(pod);
      await forwarder.close();
    }
  };
  return {
    async to(pods) {
      const names = pods.map(nameOf);
      for (const pod of names) {
        if (!forwarders.has(pod)) forwarders.set(pod, await createForwarder(cluster, pod, port));
      }
      await keep(isClosed ? [] : names);
      return [...forwarders].map(([id, { port, isAway }]) => ({ id, host: "127.0.0.1", port, isAway }));
    },
    async close() {
      isClosed = true;
      await keep([]);
    },
  };
}

function nameOf({ metadata }: V1Pod): string {
  return metadata?.name ?? "";
}

interface Following {
  pods: readonly V1Pod[];
  signal: AbortSignal;
  use(pods: readonly V1Pod[]): Promise<void>;
}

/** A Deployment replaces its Pods; new Pods get sessions once their readiness probe succeeds. */
async function follow(
  cluster: KubernetesCluster,
  name: string,
  { signal, use, pods: first }: Following,
): Promise<void> {
  for (let known = first; !signal.aborted; ) {
    await sleep(pollPause(known), undefined, { signal, ref: false }).catch(() => {});
    const pods = await cluster.listPods(name).catch(() => undefined);
    if (!pods || signal.aborted) continue;
    known = pods;
    await use(pods.filter((pod) => isRunning(pod) && isReady(pod))).catch(() => {});
  }
}
