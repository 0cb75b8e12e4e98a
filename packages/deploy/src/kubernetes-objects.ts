import type { Topology } from "./topology.js";

/** The labels of a component, which also select its Pods. */
export function labels({ name }: Topology, component: string): Record<string, string> {
  return { "app.kubernetes.io/name": name, "app.kubernetes.io/component": component };
}

/** When nodes are drained, one Pod at a time may be evicted. */
export function disruption(metadata: { name: string; labels: Record<string, string> }): object {
  return {
    apiVersion: "policy/v1",
    kind: "PodDisruptionBudget",
    metadata,
    spec: { maxUnavailable: 1, selector: { matchLabels: metadata.labels } },
  };
}
