import { unprivileged, WITHOUT_RIGHTS } from "../pod-security.js";
import { type EnvoySize, sizeEnvoys } from "../sizing.js";
import { BALANCER_IMAGES, fingerprint, LEAVE_SECONDS, stopSeconds } from "../targets/container.js";
import type { Topology } from "../topology.js";
import { renderYaml } from "../yaml.js";
import { renderEnvoy } from "./envoy.js";
import { ENVOY_CONFIG } from "./envoy-start.js";

/** The user of Envoy's image. Its entrypoint begins as root and becomes it, for which it would need capabilities. */
const ENVOY_USER = 101;
/** Below it only root may listen, unless the Pod's own network says otherwise. */
const FIRST_FREE_PORT = 1024;
const LOW_PORTS = { name: "net.ipv4.ip_unprivileged_port_start", value: "0" };
/** Envoys side by side, what they are configured by, and the names under which they are reached. */
export function renderBalancerManifests(topology: Topology): string {
  const { name, balancer, ingressHost } = topology;
  const inside = { ...topology, balancer: { ...balancer, host: "0.0.0.0" } };
  const size = sizeEnvoys(topology);
  const config = renderEnvoy(inside, { discovery: { name: `${name}-servers` }, connections: size.connections });
  const parts = [
    configuration(topology, config),
    deployment(topology, { config, size }),
    service(topology),
    disruption(topology),
  ];
  return renderYaml(...parts, ...(ingressHost === undefined ? [] : [ingress(topology, ingressHost)]));
}

function configuration(topology: Topology, config: string): object {
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: metadata(topology),
    data: { "envoy.yaml": config },
  };
}

function deployment(topology: Topology, { config, size }: { config: string; size: EnvoySize }): object {
  const { balancer, graceSeconds } = topology;
  const { labels, name } = metadata(topology);
  const amounts = { cpu: String(size.cpus), memory: `${size.memoryMib}Mi` };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: metadata(topology),
    spec: {
      "# One more than it takes, so that the others hold the sessions of one that is gone.": null,
      replicas: size.replicas,
      strategy: { type: "RollingUpdate", rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
      selector: { matchLabels: labels },
      template: {
        metadata: {
          labels,
          annotations: {
            "# Of envoy.yaml, which Envoy reads once: another one starts other Pods.": null,
            "checksum/config": fingerprint(config),
          },
        },
        spec: {
          "# Sockets that go through a balancer end with it: it gets the time that sessions get.": null,
          terminationGracePeriodSeconds: LEAVE_SECONDS + stopSeconds(topology),
          automountServiceAccountToken: false,
          securityContext: {
            ...unprivileged(ENVOY_USER),
            ...(balancer.port < FIRST_FREE_PORT && { sysctls: [LOW_PORTS] }),
          },
          containers: [
            {
              name: "envoy",
              image: BALANCER_IMAGES.envoy,
              "# --concurrency: a thread for each processor that it may use, not for each that the node has.": null,
              args: [
                ...["-c", ENVOY_CONFIG],
                ...["--concurrency", String(size.cpus)],
                ...["--drain-time-s", String(Math.max(1, graceSeconds))],
              ],
              ports: [
                { name: "http", containerPort: balancer.port },
                ...(balancer.metricsPort === undefined
                  ? []
                  : [{ name: "metrics", containerPort: balancer.metricsPort }]),
              ],
              readinessProbe: { httpGet: { path: "/health", port: "http" }, periodSeconds: 2, timeoutSeconds: 2 },
              livenessProbe: { tcpSocket: { port: "http" }, periodSeconds: 10, failureThreshold: 6 },
              lifecycle: { preStop: { sleep: { seconds: LEAVE_SECONDS + graceSeconds } } },
              [`# For ${size.connections} connections, with one of the Envoys gone.`]: null,
              resources: { requests: amounts, limits: amounts },
              securityContext: WITHOUT_RIGHTS,
              volumeMounts: [{ name: "config", mountPath: "/etc/envoy", readOnly: true }],
            },
          ],
          volumes: [{ name: "config", configMap: { name } }],
        },
      },
    },
  };
}

function service(topology: Topology): object {
  const { name, balancer } = topology;
  const { labels } = metadata(topology);
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name, labels },
    spec: { selector: labels, ports: [{ name: "http", port: balancer.port, targetPort: "http" }] },
  };
}

function disruption(topology: Topology): object {
  return {
    apiVersion: "policy/v1",
    kind: "PodDisruptionBudget",
    metadata: metadata(topology),
    spec: { maxUnavailable: 1, selector: { matchLabels: metadata(topology).labels } },
  };
}

/** WebSockets pass an ingress of nginx by themselves, but only for a minute of silence. */
function ingress({ name, ...topology }: Topology, host: string): object {
  const week = String(7 * 24 * 3600);
  return {
    apiVersion: "networking.k8s.io/v1",
    kind: "Ingress",
    metadata: {
      ...metadata({ name, ...topology }),
      annotations: {
        "nginx.ingress.kubernetes.io/proxy-read-timeout": week,
        "nginx.ingress.kubernetes.io/proxy-send-timeout": week,
        "nginx.ingress.kubernetes.io/proxy-buffering": "off",
        "nginx.ingress.kubernetes.io/proxy-body-size": "512m",
      },
    },
    spec: {
      ingressClassName: "nginx",
      tls: [{ hosts: [host], secretName: `${name}-tls` }],
      rules: [
        {
          host,
          http: { paths: [{ path: "/", pathType: "Prefix", backend: { service: { name, port: { name: "http" } } } }] },
        },
      ],
    },
  };
}

function metadata({ name }: Topology): { name: string; labels: Record<string, string> } {
  return {
    name: `${name}-balancer`,
    labels: { "app.kubernetes.io/name": name, "app.kubernetes.io/component": "balancer" },
  };
}
