import { setTimeout as sleep } from "node:timers/promises";
import type { V1Pod } from "@kubernetes/client-node";
import type { StartContext } from "../lifecycle/start-context.js";
import { ask, type KubernetesCluster } from "./cluster.js";
import { CONTAINER, type KubernetesWorkload, NAME_LABEL } from "./manifests.js";
import { describePod, findEnd, findFailure, isRunning, pollPause } from "./pod-state.js";

/** All Pods, once they run. @throws ProviderError with the cluster's own reason when one of them does not come up. */
export async function waitForPods(
  cluster: KubernetesCluster,
  workload: KubernetesWorkload,
  start: StartContext,
): Promise<V1Pod[]> {
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

/** Resolves with why one of the Pods has ended, or is about to. */
export async function waitForEnd(
  cluster: KubernetesCluster,
  { name, replicas }: KubernetesWorkload,
  signal: AbortSignal,
): Promise<string> {
  for (;;) {
    const pods = await cluster.listPods(name);
    const end = pods.map(findEnd).find(Boolean);
    if (end) return end;
    // Nobody replaces one that was made without a Deployment.
    if (pods.length === 0 && replicas === undefined) return `Pod ${name} was removed by somebody else`;
    await sleep(pollPause(pods), undefined, { signal });
  }
}

/** What the Pods wrote; at the end why those that have ended did. */
export async function readLogs(cluster: KubernetesCluster, name: string): Promise<string> {
  const pods = await cluster.listPods(name);
  const texts = await Promise.all(
    pods.map(({ metadata }) => {
      const pod = { name: metadata?.name ?? "", namespace: cluster.namespace };
      const log = { ...pod, container: CONTAINER, tailLines: SHOWN_LOG_LINES };
      return ask(cluster.core.readNamespacedPodLog(log)).catch(() => "");
    }),
  );
  const ends = pods.map(findEnd).flatMap((end) => (end === undefined ? [] : [`${end}\n`]));
  return [...texts, ...ends].join("");
}

const SHOWN_LOG_LINES = 500;

/** Why the cluster makes no more Pods of a Deployment: a quota, or what admits none. */
async function findRefusals({ apps, namespace }: KubernetesCluster, name: string): Promise<string[]> {
  const { items } = await ask(apps.listNamespacedDeployment({ namespace, labelSelector: `${NAME_LABEL}=${name}` }));
  const conditions = items.flatMap(({ status }) => status?.conditions ?? []);
  const refusals = conditions.filter(({ type, status }) => type === "ReplicaFailure" && status === "True");
  return refusals.map(({ reason, message }) => `no more are made (${reason}: ${message})`);
}
