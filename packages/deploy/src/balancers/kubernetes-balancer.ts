import { disruption, labels } from "../kubernetes-objects.js";
import { READ_ONLY, unprivileged } from "../pod-security.js";
import { type EnvoySize, sizeEnvoys } from "../sizing.js";
import { BALANCER_IMAGES, fingerprint, LEAVE_SECONDS, stopSeconds } from "../targets/container.js";
import type { Topology } from "../topology.js";
import { renderYaml } from "../yaml.js";
import { renderEnvoy } from "./envoy.js";
import { ENVOY_CONFIG } from "./envoy-start.js";

/** The user of Envoy's image. The entrypoint would start as root and switch to it, which needs capabilities. */
const ENVOY_USER = 101;
/** Below this port only root may listen, unless a sysctl of the Pod allows it. */
const FIRST_FREE_PORT = 1024;
const LOW_PORTS = { name: "net.ipv4.ip_unprivileged_port_start", value: "0" };
/** The Envoys, their configuration, and the Services and Ingress in front of them. */
export function renderBalancerManifests(topology: Topology): string {
  const { name, balancer, ingressHost } = topology;
  const inside = { ...topology, balancer: { ...balancer, host: "0.0.0.0" } };
  const size = sizeEnvoys(topology);
  const config = renderEnvoy(inside, { discovery: { name: `${name}-servers` }, connections: size.connections });
  return renderYaml(
    { apiVersion: "v1", kind: "ConfigMap", metadata: metadata(topology), data: { "envoy.yaml": config } },
    deployment(topology, { config, size }),
    service(topology),
    disruption(metadata(topology)),
    ...(ingressHost === undefined ? [] : [ingress(topology, ingressHost)]),
  );
}

function deployment(topology: Topology, { config, size }: { config: string; size: EnvoySize }): object {
  const { port, metricsPort } = topology.balancer;
  const { labels, name } = metadata(topology);
  const amounts = { cpu: String(size.cpus), memory: `${size.memoryMib}Mi` };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: metadata(topology),
    spec: {
      "# One more than needed, so that the others can take the sessions of one that fails.": null,
      replicas: size.replicas,
      strategy: { type: "RollingUpdate", rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
      selector: { matchLabels: labels },
      template: {
        metadata: {
          labels,
          annotations: {
            "# Hash of envoy.yaml, which Envoy reads only once: a change replaces the Pods.": null,
            "checksum/config": fingerprint(config),
          },
        },
        spec: {
          "# A balancer closes its sockets when it ends, so it gets the same grace period as sessions.": null,
          terminationGracePeriodSeconds: LEAVE_SECONDS + stopSeconds(topology),
          automountServiceAccountToken: false,
          securityContext: {
            ...unprivileged(ENVOY_USER),
            ...(port < FIRST_FREE_PORT && { sysctls: [LOW_PORTS] }),
          },
          containers: [
            {
              name: "envoy",
              image: BALANCER_IMAGES.envoy,
              "# --concurrency: one thread for each CPU of its limit, not for each CPU of the node.": null,
              args: [
                ...["-c", ENVOY_CONFIG],
                ...["--concurrency", String(size.cpus)],
                ...["--drain-time-s", String(Math.max(1, topology.graceSeconds))],
              ],
              ports: [
                { name: "http", containerPort: port },
                ...(metricsPort === undefined ? [] : [{ name: "metrics", containerPort: metricsPort }]),
              ],
              readinessProbe: { httpGet: { path: "/health", port: "http" }, periodSeconds: 2, timeoutSeconds: 2 },
              livenessProbe: { tcpSocket: { port: "http" }, periodSeconds: 10, failureThreshold: 6 },
              lifecycle: { preStop: { sleep: { seconds: LEAVE_SECONDS + topology.graceSeconds } } },
              [`# For ${size.connections} connections when one of the Envoys is gone.`]: null,
              resources: { requests: amounts, limits: amounts },
              securityContext: READ_ONLY,
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

/** ingress-nginx supports WebSockets, but closes them after a minute without traffic by default. */
function ingress(topology: Topology, host: string): object {
  const { name } = topology;
  const week = String(7 * 24 * 3600);
  return {
    apiVersion: "networking.k8s.io/v1",
    kind: "Ingress",
    metadata: {
      ...metadata(topology),
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

function metadata(topology: Topology): { name: string; labels: Record<string, string> } {
  return { name: `${topology.name}-balancer`, labels: labels(topology, "balancer") };
}
