import { posix } from "node:path";
import { ConfigError } from "openenv-ts";
import { renderBalancerManifests } from "../balancers/kubernetes-balancer.js";
import { disruption, labels } from "../kubernetes-objects.js";
import { loadRatio, metric } from "../monitoring/metric.js";
import { renderPodScrape } from "../monitoring/monitoring.js";
import { READ_ONLY, SERVER_USER, unprivileged } from "../pod-security.js";
import { countSilentChecks } from "../server-times.js";
import type { RenderedFiles } from "../targets.js";
import { readJournal, type Topology } from "../topology.js";
import { renderYaml } from "../yaml.js";
import { LEAVE_SECONDS, serverVariables, stopSeconds } from "./container.js";
import { renderDeletionCosts } from "./kubernetes-costs.js";
import { journalHost, renderJournal } from "./kubernetes-journal.js";
import { renderNetworkPolicies } from "./kubernetes-network.js";

/** Interval of the liveness probe in seconds. */
const LIVE_SECONDS = 10;
/**
 * Share of the servers that an update starts at once, rounded up; a share, because an autoscaler changes their number.
 */
const SURGE = "3%";
/** Load at which the autoscaler adds servers. */
const FILL = 0.8;
/** Name of the metric with the load of a Pod. */
const LOAD_METRIC = "openenv_load_ratio";
const PAUSE_IMAGE = "registry.k8s.io/pause:3.10";

/**
 * Manifests for `kubectl apply -f`: the servers, their balancers, network policies, and a DaemonSet that pulls the image
 * early. The folder `monitoring` has what `kubectl` does not accept.
 */
export function renderKubernetes(topology: Topology): RenderedFiles {
  const { image, balancer, directory } = topology;
  if (image === undefined) {
    const what = directory === undefined ? "" : `: build and push ${directory}, then set image`;
    throw new ConfigError(`Kubernetes needs an image that its nodes can pull${what}.`);
  }
  if ((balancer.kind ?? "envoy") !== "envoy") {
    throw new ConfigError(
      "Kubernetes runs several balancers and replaces Pods, so it needs envoy, which keeps no state: remove balancer.kind.",
    );
  }
  const autoscaling = topology.maxNodes === undefined ? [] : [autoscaler(topology)];
  return {
    "servers.yaml": renderYaml(
      deployment(topology),
      service(topology),
      disruption({ name: topology.name, labels: labels(topology, "server") }),
      ...autoscaling,
    ),
    "balancer.yaml": renderBalancerManifests(topology),
    ...(topology.journal === "redis" && { "journal.yaml": renderJournal(topology) }),
    "network.yaml": renderNetworkPolicies(topology),
    "prepull.yaml": renderYaml(prepull(topology)),
    ...(autoscaling.length > 0 && { "deletion-costs.yaml": renderDeletionCosts(topology) }),
    "monitoring/prometheus.scrape.yaml": renderPodScrape(topology, labels(topology, "server")),
    ...(autoscaling.length > 0 && { "monitoring/prometheus-adapter.values.yaml": renderYaml(adapterValues()) }),
  };
}

function deployment(topology: Topology): object {
  const { name, image, port, nodes, spareNodes, maxNodes, resources } = topology;
  const live = { httpGet: { path: "/livez", port: "http" }, timeoutSeconds: 5 };
  const amounts = { cpu: String(resources.cpus), memory: `${resources.memoryMb}Mi` };
  const gpus = resources.gpus > 0 ? { "nvidia.com/gpu": resources.gpus } : {};
  const folders = writableFolders(topology);
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name, labels: labels(topology, "server") },
    spec: {
      ...(maxNodes === undefined
        ? { [`# ${nodes} for the load, ${spareNodes} spare.`]: null, replicas: nodes + spareNodes }
        : { "# No replicas: the autoscaler sets the number, also when this file is applied again.": null }),
      selector: { matchLabels: labels(topology, "server") },
      strategy: { type: "RollingUpdate", rollingUpdate: { maxSurge: SURGE, maxUnavailable: 0 } },
      template: {
        metadata: { labels: labels(topology, "server") },
        spec: {
          "# Time to leave the endpoints of the cluster, for sessions to finish, and to close.": null,
          terminationGracePeriodSeconds: LEAVE_SECONDS + stopSeconds(topology),
          ...placement(topology),
          automountServiceAccountToken: false,
          "# The pause process then reaps zombies; not every image has an init process.": null,
          shareProcessNamespace: true,
          securityContext: unprivileged(SERVER_USER),
          containers: [
            {
              name: "server",
              image,
              ports: [{ name: "http", containerPort: port }],
              env: Object.entries(serverVariables(topology, journalHost(topology))).map(([key, value]) => ({
                name: key,
                value,
              })),
              "# OPENENV_CLIENT_TOKEN, OPENENV_OPERATOR_TOKEN (without it /metrics is closed), OPENENV_ORCHESTRATOR_TOKEN, JOURNAL.":
                null,
              envFrom: [{ secretRef: { name: `${name}-tokens`, optional: true } }],
              resources: { requests: { ...amounts, ...gpus }, limits: { ...amounts, ...gpus } },
              startupProbe: { ...live, periodSeconds: 2, failureThreshold: 60 },
              "# A full server stays ready, and one whose journal is away: else all could be unavailable, and no update would finish.":
                null,
              readinessProbe: {
                httpGet: { path: "/readyz?exclude=full&exclude=journal", port: "http" },
                periodSeconds: 2,
                timeoutSeconds: 2,
                failureThreshold: 2,
              },
              "# Longer than WORKER_TIMEOUT and STEP_TIMEOUT, which stop a hanging worker or step at a lower cost.":
                null,
              livenessProbe: {
                ...live,
                periodSeconds: LIVE_SECONDS,
                failureThreshold: countSilentChecks(LIVE_SECONDS, topology.variables),
              },
              lifecycle: { preStop: { sleep: { seconds: LEAVE_SECONDS } } },
              securityContext: READ_ONLY,
              volumeMounts: folders.map((mountPath, index) => ({ name: `writable-${index}`, mountPath })),
            },
          ],
          "# They are empty in a new Pod. A container that restarts in its Pod finds them as they were.": null,
          volumes: folders.map((_, index) => ({ name: `writable-${index}`, emptyDir: {} })),
        },
      },
    },
  };
}

/** /tmp, the folder of a journal in a file, and those of the topology, each once. */
function writableFolders(topology: Topology): string[] {
  const { file } = readJournal(topology);
  const folder = file === undefined ? "/tmp" : posix.dirname(posix.normalize(file));
  if (!/^\/./.test(folder)) {
    throw new ConfigError(
      `Images are read-only in Kubernetes: JOURNAL must be the absolute path of a file in a folder, such as /journal/sessions.db, got "${file}".`,
    );
  }
  const all = ["/tmp", ...topology.writable, folder];
  const isBelow = (one: string): boolean => all.some((other) => one.startsWith(`${other}/`));
  return [...new Set(all)].filter((one) => !isBelow(one));
}

/** A headless Service: its name resolves to the addresses of all servers. */
function service(topology: Topology): object {
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: `${topology.name}-servers`, labels: labels(topology, "server") },
    spec: {
      clusterIP: "None",
      selector: labels(topology, "server"),
      "# A draining server keeps its sessions; the health checks of the balancers keep new ones away.": null,
      publishNotReadyAddresses: true,
      ports: [{ name: "http", port: topology.port, targetPort: "http" }],
    },
  };
}

function autoscaler(topology: Topology): object {
  const { name, nodes, spareNodes, maxNodes } = topology;
  return {
    apiVersion: "autoscaling/v2",
    kind: "HorizontalPodAutoscaler",
    metadata: { name, labels: labels(topology, "server") },
    spec: {
      scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name },
      [`# ${nodes} for the load, ${spareNodes} spare.`]: null,
      minReplicas: nodes + spareNodes,
      maxReplicas: maxNodes,
      metrics: [
        {
          type: "Pods",
          pods: {
            "# Sessions in use, waiting clients and clients rejected in the last minute, by capacity. Can exceed 1.":
              null,
            "# Scraped by prometheus.scrape.yaml, computed by prometheus-adapter.values.yaml.": null,
            metric: { name: LOAD_METRIC },
            target: { type: "AverageValue", averageValue: `${FILL * 1000}m` },
          },
        },
      ],
      behavior: {
        scaleUp: { stabilizationWindowSeconds: 0, policies: [{ type: "Percent", value: 100, periodSeconds: 15 }] },
        "# A removed server ends the sessions that do not finish in its grace period, so scale down slowly. The server":
          null,
        "# with the fewest is removed first (deletion-costs.yaml).": null,
        scaleDown: { stabilizationWindowSeconds: 600, policies: [{ type: "Pods", value: 1, periodSeconds: 120 }] },
      },
    },
  };
}

/** Pulls the image on every node that may get a server. */
function prepull(topology: Topology): object {
  const { name, image } = topology;
  const small = { cpu: "10m", memory: "64Mi" };
  return {
    apiVersion: "apps/v1",
    kind: "DaemonSet",
    metadata: { name: `${name}-prepull`, labels: labels(topology, "prepull") },
    spec: {
      selector: { matchLabels: labels(topology, "prepull") },
      template: {
        metadata: { labels: labels(topology, "prepull") },
        spec: {
          ...placement(topology),
          automountServiceAccountToken: false,
          securityContext: unprivileged(SERVER_USER),
          initContainers: [
            {
              name: "pull",
              image,
              command: ["node", "--version"],
              resources: { requests: small, limits: small },
              securityContext: READ_ONLY,
            },
          ],
          containers: [
            {
              name: "pause",
              image: PAUSE_IMAGE,
              resources: { requests: small, limits: small },
              securityContext: READ_ONLY,
            },
          ],
        },
      },
    },
  };
}

/** Values of the Helm chart prometheus-adapter: the load of a Pod is the sum over its workers. */
function adapterValues(): object {
  return {
    rules: {
      custom: [
        {
          seriesQuery: `${metric("openenv_sessions")}{namespace!="",pod!=""}`,
          resources: { overrides: { namespace: { resource: "namespace" }, pod: { resource: "pod" } } },
          name: { as: LOAD_METRIC },
          metricsQuery: loadRatio("<<.LabelMatchers>>", "<<.GroupBy>>"),
        },
      ],
    },
  };
}

function placement({ nodeSelector, tolerations, runtimeClass }: Topology): object {
  return {
    ...(Object.keys(nodeSelector).length > 0 && { nodeSelector }),
    ...(tolerations.length > 0 && {
      tolerations: tolerations.map(({ key, value, effect }) => ({
        key,
        operator: value === undefined ? "Exists" : "Equal",
        ...(value !== undefined && { value }),
        ...(effect !== undefined && { effect }),
      })),
    }),
    ...(runtimeClass !== undefined && { runtimeClassName: runtimeClass }),
  };
}
