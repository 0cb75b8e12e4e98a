/**
 * Serves a metric of Pods to a cluster's autoscalers, in place of prometheus-adapter: it fills a rendered rule in, and asks a
 * Prometheus that scrapes the Pods by a rendered job.
 */
import { execFile } from "node:child_process";
import { once } from "node:events";
import { readFile, rename, writeFile } from "node:fs/promises";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import type { PrometheusConfig } from "../deploy/prometheus.js";
import { startPrometheus } from "../deploy/prometheus.js";
import type { Cluster } from "./cluster.js";
import type { ClusterPod } from "./pod.js";

const GROUP = "custom.metrics.k8s.io";
const VERSION = "v1beta2";
const PATH = new RegExp(`^/apis/${GROUP}/${VERSION}/namespaces/([\\w-]+)/pods/\\*/([\\w-]+)$`);
const DISCOVERY_MS = 1_000;
const API_SERVICES = "/apis/apiregistration.k8s.io/v1/apiservices";

export interface Rule {
  name: { as: string };
  metricsQuery: string;
}

export async function startMetricsAdapter(
  cluster: Cluster,
  options: { prometheus: string; job: PrometheusConfig; rule: Rule; token: string },
) {
  const { rule, token } = options;
  // Not every Prometheus is built with the discovery of Kubernetes, so its labels come from a file.
  const [{ kubernetes_sd_configs: _, ...job } = {}] = options.job.scrape_configs;
  const config = { scrape_configs: [{ ...job, file_sd_configs: [{ files: ["pods.json"], refresh_interval: "1s" }] }] };
  const prometheus = await startPrometheus(options.prometheus, { config, files: { "pods.json": "[]" }, token });
  const discover = async (): Promise<void> => {
    const pods = await cluster.api.list<ClusterPod>(`/api/v1/namespaces/${cluster.namespace}/pods`);
    const found = pods
      .filter(({ metadata }) => metadata.labels?.["app.kubernetes.io/component"] === "server")
      .map(describe);
    const file = join(prometheus.folder, "pods.json");
    await writeFile(`${file}.new`, JSON.stringify(found));
    await rename(`${file}.new`, file);
  };
  const timer = setInterval(() => void discover().catch(() => {}), DISCOVERY_MS);

  const read = async (namespace: string): Promise<object[]> => {
    const query = rule.metricsQuery
      .replaceAll("<<.LabelMatchers>>", `namespace="${namespace}"`)
      .replaceAll("<<.GroupBy>>", "pod");
    const { result } = await prometheus.ask<{ result: { metric: { pod: string }; value: [number, string] }[] }>(
      `query?query=${encodeURIComponent(query)}`,
    );
    return result.map(({ metric, value: [time, value] }) => ({
      describedObject: { kind: "Pod", namespace, name: metric.pod, apiVersion: "/v1" },
      metric: { name: rule.name.as },
      timestamp: new Date(time * 1000).toISOString(),
      value: `${Math.round(Number(value) * 1000)}m`,
    }));
  };

  const server = createServer(await makeCertificate(prometheus.folder), async (request, response) => {
    const { pathname } = new URL(request.url ?? "", "https://localhost");
    const [, namespace, name] = PATH.exec(decodeURIComponent(pathname)) ?? [];
    const verb = {
      name: `pods/${rule.name.as}`,
      namespaced: true,
      kind: "MetricValueList",
      verbs: ["get"],
      singularName: "",
    };
    const groupVersion = `${GROUP}/${VERSION}`;
    const body =
      name === rule.name.as && namespace !== undefined
        ? { kind: "MetricValueList", apiVersion: groupVersion, metadata: {}, items: await read(namespace) }
        : { kind: "APIResourceList", apiVersion: "v1", groupVersion, resources: [verb] };
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify(body));
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  const close = async (): Promise<void> => {
    clearInterval(timer);
    server.closeAllConnections();
    server.close();
    await prometheus[Symbol.asyncDispose]();
    await cluster.api.find("DELETE", `${API_SERVICES}/${VERSION}.${GROUP}`);
  };
  try {
    await register(cluster, port);
  } catch (error) {
    await close();
    throw error;
  }
  return { [Symbol.asyncDispose]: close };
}

/** The target of a Pod, with the labels that Prometheus gives it by itself. */
function describe({ metadata, spec, status }: ClusterPod): object {
  const [port] = spec?.containers.flatMap(({ ports = [] }) => ports) ?? [];
  return {
    targets: status?.podIP === undefined ? [] : [`${status.podIP}:${port?.containerPort}`],
    labels: {
      __meta_kubernetes_namespace: metadata.namespace,
      __meta_kubernetes_pod_name: metadata.name,
      __meta_kubernetes_pod_phase: status?.phase ?? "",
      __meta_kubernetes_pod_container_port_name: port?.name ?? "",
    },
  };
}

/** A Service of the type ExternalName is the only one that can lead to a loopback address. */
async function register({ api, namespace }: Cluster, port: number): Promise<void> {
  const metadata = { name: "metrics-adapter" };
  await api.ask("POST", `/api/v1/namespaces/${namespace}/services`, {
    ...{ apiVersion: "v1", kind: "Service", metadata },
    spec: { type: "ExternalName", externalName: "localhost", ports: [{ port, protocol: "TCP" }] },
  });
  // A run that was killed leaves it.
  await api.find("DELETE", `${API_SERVICES}/${VERSION}.${GROUP}`);
  await api.ask("POST", API_SERVICES, {
    ...{ apiVersion: "apiregistration.k8s.io/v1", kind: "APIService", metadata: { name: `${VERSION}.${GROUP}` } },
    spec: {
      ...{
        group: GROUP,
        version: VERSION,
        groupPriorityMinimum: 100,
        versionPriority: 100,
        insecureSkipTLSVerify: true,
      },
      service: { namespace, name: metadata.name, port },
    },
  });
}

async function makeCertificate(folder: string): Promise<{ key: Buffer; cert: Buffer }> {
  const [key, cert] = [join(folder, "key.pem"), join(folder, "cert.pem")];
  const subject = ["-subj", "/CN=localhost", "-days", "1", "-nodes"];
  await promisify(execFile)("openssl", [
    "req",
    "-x509",
    "-newkey",
    "rsa:2048",
    "-keyout",
    key,
    "-out",
    cert,
    ...subject,
  ]);
  return { key: await readFile(key), cert: await readFile(cert) };
}
