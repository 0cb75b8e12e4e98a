/** The states of Pods that do not run. */
import type { V1ContainerStatus, V1Pod, V1PodSpec, V1PodStatus } from "@kubernetes/client-node";

/** A label that no node has. */
export const NOWHERE = "openenv.test/nowhere";
/** The memory that a container needs to start, megabytes. */
const MIN_MEMORY = 32;

const CONTAINER = { name: "environment", image: "", imageID: "", ready: false, restartCount: 0 };
const HUNGRY = ended(137, "OOMKilled");
const UNSCHEDULABLE: V1PodStatus = {
  phase: "Pending",
  conditions: [{ type: "PodScheduled", status: "False", reason: "Unschedulable", message: "0/3 nodes are available" }],
};
const EVICTED: V1PodStatus = { phase: "Failed", reason: "Evicted", message: "The node was low on resource: memory." };
const BY_IMAGE: Record<string, V1PodStatus> = {
  missing: waiting("ImagePullBackOff", 'Back-off pulling image "missing"'),
  huge: UNSCHEDULABLE,
  hungry: HUNGRY,
  ends: ended(3, "Error"),
  evicted: EVICTED,
};

/** The state of a Pod that never runs; undefined for a Pod that runs. */
export function findFate({ containers, nodeSelector = {} }: V1PodSpec): V1PodStatus | undefined {
  if (NOWHERE in nodeSelector) return UNSCHEDULABLE;
  const [container] = containers;
  const memory = /^(\d+)Mi$/.exec(container?.resources?.limits?.["memory"] ?? "")?.[1];
  if (memory !== undefined && Number(memory) < MIN_MEMORY) return HUNGRY;
  return BY_IMAGE[container?.image ?? ""];
}

/** The failures of a running Pod. */
export type Blow = "OOMKilled" | "Evicted";

/** The state after a failure; for a restarted container, its last state. */
export function afterBlow(blow: Blow, { spec }: V1Pod): { status: V1PodStatus } | { last: V1ContainerStatus } {
  if (blow === "Evicted") return { status: EVICTED };
  const state = HUNGRY.containerStatuses?.[0]?.state ?? {};
  if (spec?.restartPolicy === "Never") return { status: HUNGRY };
  return { last: { ...CONTAINER, restartCount: 1, lastState: state } };
}

export function running(podIP: string, last: V1ContainerStatus = CONTAINER): V1PodStatus {
  const container = { ...last, ready: true, state: { running: {} } };
  const conditions = [{ type: "Ready", status: "True" }];
  return { phase: "Running", podIP, conditions, containerStatuses: [container] };
}

export function waiting(reason: string, message: string): V1PodStatus {
  return { phase: "Pending", containerStatuses: [{ ...CONTAINER, state: { waiting: { reason, message } } }] };
}

function ended(exitCode: number, reason: string): V1PodStatus {
  return { phase: "Failed", containerStatuses: [{ ...CONTAINER, state: { terminated: { exitCode, reason } } }] };
}
