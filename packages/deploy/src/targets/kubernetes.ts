import { ConfigError, countSilentChecks } from "openenv-ts/internal";
import { renderBalancerManifests } from "../balancers/kubernetes-balancer.js";
import { loadRatio, metric } from "../monitoring/metric.js";
import { renderPodScrape } from "../monitoring/monitoring.js";
import { SERVER_USER, unprivileged, WITHOUT_RIGHTS } from "../pod-security.js";
import type { RenderedFiles } from "../targets.js";
import type { Topology } from "../topology.js";
import { renderYaml } from "../yaml.js";
import { LEAVE_SECONDS, serverVariables, stopSeconds } from "./container.js";

/** Seconds between two questions whether the server lives. */
const LIVE_SECONDS = 10;
/** How many servers an update starts at once, rounded up: a share, since an autoscaler changes their number. */
const SURGE = "3%";
/** Share of its capacity at which a server should have company. */
const FILL = 0.8;
/** By which the autoscaler knows the load of a Pod. */
const LOAD_METRIC = "openenv_load_ratio";
const PAUSE_IMAGE = "registry.k8s.io/pause:3.10";

/** Manifests for `kubectl apply -f`: the servers, the balancers before them, and what fetches the image early. */
export function renderKubernetes(topology: Topology): RenderedFiles {
  const { image, balancer, directory } = topology;
  if (image === undefined) {
    const what = directory === undefined ? "" : `: build and push ${directory}, then name it`;
    throw new ConfigError(`Kubernetes needs an image that its nodes can pull${what}.`);
  }
  if ((balancer.kind ?? "envoy") !== "envoy") {
    throw new ConfigError(
      "Pods come and go and balancers stand side by side, so Kubernetes has envoy, which keeps nothing: leave balancer.kind out.",
    );
  }
  const autoscaling = topology.maxNodes === undefined ? [] : [autoscaler(topology)];
  return {
    "servers.yaml": renderYaml(deployment(topology), service(topology), disruption(topology), ...autoscaling),
    "balancer.yaml": renderBalancerManifests(topology),
    "prepull.yaml": renderYaml(prepull(topology)),
    "prometheus.scrape.yaml": renderPodScrape(topology, labels(topology, "server")),
    ...(autoscaling.length > 0 && { "prometheus-adapter.values.yaml": renderYaml(adapterValues()) }),
  };
}

function deployment(topology: Topology): object {
  const { name, image, port, nodes, spareNodes, maxNodes, resources } = topology;
  const live = { httpGet: { path: "/livez", port: "http" }, timeoutSeconds: 5 };
  const amounts = { cpu: String(resources.cpus), memory: `${resources.memoryMb}Mi` };
  const gpus = resources.gpus > 0 ? { "nvidia.com/gpu": resources.gpus } : {};
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name, labels: labels(topology, "server") },
    spec: {
      ...(maxNodes === undefined
        ? { [`# ${nodes} for the load, ${spareNodes} warm for a rush.`]: null, replicas: nodes + spareNodes }
        : { "# No replicas: how many there are is the autoscaler's to say, also when this is applied again.": null }),
      selector: { matchLabels: labels(topology, "server") },
      strategy: { type: "RollingUpdate", rollingUpdate: { maxSurge: SURGE, maxUnavailable: 0 } },
      template: {
        metadata: { labels: labels(topology, "server") },
        spec: {
          "# Time to leave the cluster's lists, for sessions to finish, and to close.": null,
          terminationGracePeriodSeconds: LEAVE_SECONDS + stopSeconds(topology),
          ...placement(topology),
          automountServiceAccountToken: false,
          "# The first process is then the Pod's own, which reaps: not every image has one that does.": null,
          shareProcessNamespace: true,
          securityContext: unprivileged(SERVER_USER),
          containers: [
            {
              name: "server",
              image,
              ports: [{ name: "http", containerPort: port }],
              env: Object.entries(serverVariables(topology)).map(([key, value]) => ({ name: key, value })),
              "# OPENENV_CLIENT_TOKEN, OPENENV_OPERATOR_TOKEN (without it /metrics is closed), OPENENV_ORCHESTRATOR_TOKEN.":
                null,
              envFrom: [{ secretRef: { name: `${name}-tokens`, optional: true } }],
              resources: { requests: { ...amounts, ...gpus }, limits: { ...amounts, ...gpus } },
              startupProbe: { ...live, periodSeconds: 2, failureThreshold: 60 },
              "# A full server stays ready: otherwise a busy deployment is not available, and no update comes to its end.":
                null,
              readinessProbe: {
                httpGet: { path: "/readyz?exclude=full", port: "http" },
                periodSeconds: 2,
                timeoutSeconds: 2,
                failureThreshold: 2,
              },
              "# Silent for longer than WORKER_TIMEOUT and STEP_TIMEOUT, which end what hangs at a lower cost.": null,
              livenessProbe: {
                ...live,
                periodSeconds: LIVE_SECONDS,
                failureThreshold: countSilentChecks(LIVE_SECONDS, topology.variables),
              },
              lifecycle: { preStop: { sleep: { seconds: LEAVE_SECONDS } } },
              securityContext: WITHOUT_RIGHTS,
            },
          ],
        },
      },
    },
  };
}

/** Without an address of its own: its name stands for those of all servers. */
function service(topology: Topology): object {
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: `${topology.name}-servers`, labels: labels(topology, "server") },
    spec: {
      clusterIP: "None",
      selector: labels(topology, "server"),
      "# A server that drains keeps the sessions it has; the balancers' own checks keep new ones away.": null,
      publishNotReadyAddresses: true,
      ports: [{ name: "http", port: topology.port, targetPort: "http" }],
    },
  };
}

/** Of those who empty nodes, one at a time may take a server. */
function disruption(topology: Topology): object {
  return {
    apiVersion: "policy/v1",
    kind: "PodDisruptionBudget",
    metadata: { name: topology.name, labels: labels(topology, "server") },
    spec: { maxUnavailable: 1, selector: { matchLabels: labels(topology, "server") } },
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
      [`# ${nodes} for the load, ${spareNodes} warm for a rush.`]: null,
      minReplicas: nodes + spareNodes,
      maxReplicas: maxNodes,
      metrics: [
        {
          type: "Pods",
          pods: {
            "# Sessions in use, clients that wait and those refused in the last minute, by capacity: it rises above 1.":
              null,
            "# Read by prometheus.scrape.yaml, computed by prometheus-adapter.values.yaml.": null,
            metric: { name: LOAD_METRIC },
            target: { type: "AverageValue", averageValue: `${FILL * 1000}m` },
          },
        },
      ],
      behavior: {
        scaleUp: { stabilizationWindowSeconds: 0, policies: [{ type: "Percent", value: 100, periodSeconds: 15 }] },
        "# A server that goes ends what has not finished in its grace period: seldom, and one at a time.": null,
        scaleDown: { stabilizationWindowSeconds: 600, policies: [{ type: "Pods", value: 1, periodSeconds: 120 }] },
      },
    },
  };
}

/** On every node that may get a server: the image is there before the first one is. */
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
              securityContext: WITHOUT_RIGHTS,
            },
          ],
          containers: [
            {
              name: "pause",
              image: PAUSE_IMAGE,
              resources: { requests: small, limits: small },
              securityContext: WITHOUT_RIGHTS,
            },
          ],
        },
      },
    },
  };
}

/** Values of the Helm chart prometheus-adapter: the load of a Pod is that of its workers together. */
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

function labels({ name }: Topology, component: string): Record<string, string> {
  return { "app.kubernetes.io/name": name, "app.kubernetes.io/component": component };
}
