import { labels } from "../kubernetes-objects.js";
import { READ_ONLY, unprivileged } from "../pod-security.js";
import type { Topology } from "../topology.js";
import { renderYaml } from "../yaml.js";
import { REDIS } from "./container.js";

/** The port of Redis. */
export const JOURNAL_PORT = 6379;

/** The name of the Service of the Redis that {@link renderJournal} renders. */
export function journalHost({ name }: Topology): string {
  return `${name}-journal`;
}

/** A Redis with a volume, and the Service by which the servers reach it. */
export function renderJournal(topology: Topology): string {
  const name = journalHost(topology);
  const metadata = { name, labels: labels(topology, "journal") };
  const { image, command, user, group } = REDIS;
  const set = {
    apiVersion: "apps/v1",
    kind: "StatefulSet",
    metadata,
    spec: {
      serviceName: name,
      replicas: 1,
      selector: { matchLabels: metadata.labels },
      template: {
        metadata: { labels: metadata.labels },
        spec: {
          automountServiceAccountToken: false,
          securityContext: { ...unprivileged(user), runAsGroup: group, fsGroup: group },
          containers: [
            {
              name: "redis",
              image,
              args: [...command],
              ports: [{ name: "redis", containerPort: JOURNAL_PORT }],
              readinessProbe: { tcpSocket: { port: "redis" }, periodSeconds: 2 },
              "# It keeps all sessions in memory: raise both for more of them.": null,
              resources: { requests: { cpu: "0.5", memory: "1Gi" }, limits: { memory: "1Gi" } },
              volumeMounts: [{ name: "data", mountPath: "/data" }],
              securityContext: READ_ONLY,
            },
          ],
        },
      },
      volumeClaimTemplates: [
        {
          metadata: { name: "data" },
          spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "4Gi" } } },
        },
      ],
    },
  };
  const service = {
    apiVersion: "v1",
    kind: "Service",
    metadata,
    spec: { selector: metadata.labels, ports: [{ name: "redis", port: JOURNAL_PORT, targetPort: "redis" }] },
  };
  return renderYaml(set, service);
}
