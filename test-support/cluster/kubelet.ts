/**
 * A kubelet for the nodes of a real control plane: each Pod is real processes on an address of its own, with probes, restarts
 * and grace periods. It does not give them users, limits, read-only file systems or network policies.
 */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { V1Node } from "@kubernetes/client-node";
import type { ClusterApi, ClusterObject } from "./api.js";
import { type ClusterPod, type FindProgram, RunningPod } from "./pod.js";

/** Addresses of Pods. Endpoints may not be in 127.0.0.0/8. */
const POD_NET = "10.88";
const LEASE_SECONDS = 10;

export interface Kubelet extends AsyncDisposable {
  /** The Pods that have processes, of one component. */
  pods(component: string): RunningPod[];
}

export async function startKubelet(
  api: ClusterApi,
  { namespace, ...options }: { namespace: string; hosts: string; find: FindProgram },
): Promise<Kubelet> {
  await promisify(execFile)("ip", ["route", "replace", "local", `${POD_NET}.0.0/16`, "dev", "lo"]);
  const running = new Map<string, RunningPod>();
  const over = new AbortController();
  const failures: unknown[] = [];
  const fail = (error: unknown): void => {
    if (!over.signal.aborted) failures.push(error);
  };
  let addresses = 0;

  const all = await api.list<V1Node & ClusterObject>("/api/v1/nodes");
  const nodes = all.map(({ metadata }) => metadata.name);
  if (all.some(({ status }) => status?.nodeInfo?.kubeletVersion))
    throw new Error("the nodes of this cluster have kubelets");
  const renew = () => Promise.all(nodes.map((name) => keepNode(api, name)));
  await renew();
  const timer = setInterval(() => void renew().catch(fail), LEASE_SECONDS * 1000);

  const onPod = (pod: ClusterPod, isGone: boolean): void => {
    const { uid, deletionTimestamp, deletionGracePeriodSeconds } = pod.metadata;
    const known = running.get(uid);
    if (isGone || deletionTimestamp !== undefined) {
      if (known !== undefined)
        void known.stop(isGone ? 0 : deletionGracePeriodSeconds).then(() => running.delete(uid), fail);
      else if (!isGone) void removeUnstarted(api, pod).catch(fail);
      return;
    }
    if (known !== undefined || !nodes.includes(pod.spec?.nodeName ?? "")) return;
    const address = `${POD_NET}.${++addresses >> 8}.${addresses & 255}`;
    const started = new RunningPod(pod, { api, address, ...options });
    running.set(uid, started);
    void started.start().catch(fail);
  };
  const watching = api.watch<ClusterPod>(`/api/v1/namespaces/${namespace}/pods`, over.signal, ({ type, object }) =>
    onPod(object, type === "DELETED"),
  );
  watching.catch(fail);

  return {
    pods: (component) => [...running.values()].filter((pod) => pod.component === component),
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
      over.abort();
      await Promise.all([...running.values()].map((pod) => pod.stop(0)));
      if (failures.length > 0) throw new AggregateError(failures, "the kubelet of the tests failed");
    },
  };
}

/** A Pod that was removed before it had a process. */
async function removeUnstarted(api: ClusterApi, { metadata, spec }: ClusterPod): Promise<void> {
  if (spec?.nodeName === undefined) return;
  const path = `/api/v1/namespaces/${metadata.namespace}/pods/${metadata.name}`;
  await api.find("DELETE", path, { gracePeriodSeconds: 0, preconditions: { uid: metadata.uid } });
}

/** Reports a node as ready, with room for everything, and renews its lease. */
async function keepNode(api: ClusterApi, name: string): Promise<void> {
  const now = new Date().toISOString();
  const amounts = { cpu: "64", memory: "256Gi", pods: "110", "ephemeral-storage": "100Gi" };
  const ready = { type: "Ready", status: "True", reason: "KubeletReady", lastHeartbeatTime: now.replace(/\.\d+/, "") };
  const status = { capacity: amounts, allocatable: amounts, conditions: [ready] };
  await api.ask("PATCH", `/api/v1/nodes/${name}/status`, { status });
  const leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";
  const spec = { holderIdentity: name, leaseDurationSeconds: 4 * LEASE_SECONDS, renewTime: now.replace("Z", "000Z") };
  const lease = await api.find<ClusterObject>("PATCH", `${leases}/${name}`, { spec });
  if (lease !== undefined) return;
  await api.ask("POST", leases, { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata: { name }, spec });
}
