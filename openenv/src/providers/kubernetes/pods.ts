import { setTimeout as sleep } from "node:timers/promises";
import type { V1Pod } from "@kubernetes/client-node";
import type { ProviderError } from "../../errors.js";
import type { Start } from "../acquired.js";
import { ask, type Cluster } from "./cluster.js";
import { CONTAINER, NAME_LABEL, type Workload } from "./manifests.js";
import { describePod, findFailure, isRunning } from "./pod-state.js";

/** All Pods, once they run. @throws ProviderError with the cluster's own reason when one of them does not come up. */
export async function waitForPods(cluster: Cluster, workload: Workload, start: Start): Promise<V1Pod[]> {
  const { name, replicas } = workload;
  const count = replicas ?? 1;
  for (let told = ""; ; ) {
    const pods = await cluster.listPods(name);
    const failure = pods.map(findFailure).find(Boolean);
    if (failure) throw failure;
    const running = pods.filter(isRunning);
    if (running.length >= count) return running;
    const waiting = pods.find((pod) => !isRunning(pod));
    const reasons = [
      ...(waiting ? [`one is ${describePod(waiting)}`] : []),
      ...(replicas !== undefined && pods.length < count ? await findRefusals(cluster, name) : []),
    ];
    const stage = [`${running.length} of ${count} Pods run`, ...reasons].join(": ");
    if (stage !== told) start.progress(stage);
    told = stage;
    await sleep(pollPause(pods), undefined, { signal: start.signal });
  }
}

/** Resolves with why one of the Pods has failed. */
export async function waitForFailure(cluster: Cluster, name: string, signal: AbortSignal): Promise<ProviderError> {
  for (;;) {
    const pods = await cluster.listPods(name);
    const failure = pods.map(findFailure).find(Boolean);
    if (failure) return failure;
    await sleep(pollPause(pods), undefined, { signal });
  }
}

/** A list of many Pods is megabytes of work for the API server: each of them makes the next question come later. */
export function pollPause(pods: readonly V1Pod[]): number {
  return POLL_MS + POLL_MS_PER_POD * pods.length;
}

/** What the Pods wrote; at the end why one of them has failed. */
export async function readLogs(cluster: Cluster, name: string): Promise<string> {
  const pods = await cluster.listPods(name);
  const texts = await Promise.all(
    pods.map(({ metadata }) => {
      const pod = { name: metadata?.name ?? "", namespace: cluster.namespace };
      const log = { ...pod, container: CONTAINER, tailLines: SHOWN_LOG_LINES };
      return ask(cluster.core.readNamespacedPodLog(log)).catch(() => "");
    }),
  );
  const failures = pods.map(findFailure).flatMap((failure) => (failure ? [`${failure.message}\n`] : []));
  return [...texts, ...failures].join("");
}

const POLL_MS = 500;
const POLL_MS_PER_POD = 5;
const SHOWN_LOG_LINES = 500;

/** Why the cluster makes no more Pods of a Deployment: a quota, or what admits none. */
async function findRefusals({ apps, namespace }: Cluster, name: string): Promise<string[]> {
  const { items } = await ask(apps.listNamespacedDeployment({ namespace, labelSelector: `${NAME_LABEL}=${name}` }));
  const conditions = items.flatMap(({ status }) => status?.conditions ?? []);
  const refusals = conditions.filter(({ type, status }) => type === "ReplicaFailure" && status === "True");
  return refusals.map(({ reason, message }) => `no more are made (${reason}: ${message})`);
}
