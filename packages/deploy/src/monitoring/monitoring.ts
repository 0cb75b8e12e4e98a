import { mostNodes, totalLimit } from "../limits.js";
import { sizeEnvoys } from "../sizing.js";
import type { RenderedFiles } from "../targets.js";
import { nodeCapacity, type Topology } from "../topology.js";
import { renderYaml } from "../yaml.js";
import { renderDashboard } from "./dashboard.js";
import { balancerJobName, connections, loadRatio, metric, RECORDED, turnedAway } from "./metric.js";

/** What watches a deployment: a scrape job and alert rules for Prometheus, and a dashboard for Grafana. */
export function renderMonitoring(topology: Topology): RenderedFiles {
  return {
    "prometheus.yaml": renderYaml(scrape(topology)),
    "alerts.yaml": renderYaml(alerts(topology)),
    "dashboard.json": renderDashboard(topology),
  };
}

/** The scrape jobs of Kubernetes: what they read has the namespace and the Pod, by which an autoscaler finds it. */
export function renderPodScrape(topology: Topology, labels: Labels): string {
  const hasMetrics = topology.balancer.metricsPort !== undefined;
  const balancers = { ...balancerJob(topology), ...ofPods({ ...labels, [COMPONENT]: "balancer" }, "metrics") };
  const servers = { ...jobOf(topology), ...ofPods({ ...labels, [COMPONENT]: "server" }, "http") };
  return renderYaml({ scrape_configs: [servers, ...(hasMetrics ? [balancers] : [])] });
}

type Labels = Readonly<Record<string, string>>;
const COMPONENT = "app.kubernetes.io/component";

function ofPods(labels: Labels, port: string): object {
  const label = Object.entries(labels).map(([key, value]) => `${key}=${value}`);
  return {
    kubernetes_sd_configs: [{ role: "pod", selectors: [{ role: "pod", label: label.join(",") }] }],
    "# The port of the container, not one that the cluster has added; and no Pod that has ended.": null,
    relabel_configs: [
      keep("container_port_name", port),
      keep("phase", "Running"),
      { source_labels: ["__meta_kubernetes_namespace"], target_label: "namespace" },
      { source_labels: ["__meta_kubernetes_pod_name"], target_label: "pod" },
    ],
  };
}

function balancerJob(topology: Topology): object {
  return { job_name: balancerJobName(topology), metrics_path: "/metrics", scrape_interval: "15s" };
}

function keep(what: string, value: string): object {
  return { source_labels: [`__meta_kubernetes_pod_${what}`], regex: value, action: "keep" };
}

function scrape(topology: Topology): object {
  const job = {
    ...jobOf(topology),
    "# Each server, not the balancer: that would answer for one of them at a time.": null,
    "# The name is that of a swarm's network; in that of Compose it is env. Kubernetes has its own job, beside": null,
    "# its manifests (prometheus.scrape.yaml), to be used in the place of this one.": null,
    dns_sd_configs: [{ names: ["tasks.env"], type: "A", port: topology.port }],
  };
  const { metricsPort } = topology.balancer;
  const balancers = metricsPort !== undefined && {
    ...balancerJob(topology),
    dns_sd_configs: [{ names: ["tasks.balancer"], type: "A", port: metricsPort }],
  };
  return { rule_files: ["alerts.yaml"], scrape_configs: [job, ...(balancers ? [balancers] : [])] };
}

function jobOf({ name }: Topology): object {
  return {
    job_name: name,
    metrics_path: "/metrics",
    scrape_interval: "15s",
    "# The value of the servers' OPENENV_OPERATOR_TOKEN.": null,
    authorization: { type: "Bearer", credentials_file: "/etc/prometheus/openenv-operator-token" },
  };
}

function alerts(topology: Topology): object {
  const { name, nodes, spareNodes } = topology;
  const here = `{job="${name}"}`;
  const sum = (expression: string): string => `sum(${expression})`;
  const rate = (what: string): string => sum(`rate(${what}[5m])`);
  const errors = (fault: string): string => rate(`${metric("openenv_errors_total")}{job="${name}",fault="${fault}"}`);
  const rules = [
    recorded(topology, RECORDED.load, loadRatio(`job="${name}"`)),
    recorded(topology, RECORDED.serverErrors, errors("server")),
    recorded(topology, RECORDED.clientErrors, errors("client")),
    rule("OpenEnvServerDown", "2m", "critical", {
      expr: `up${here} == 0`,
      summary: "{{ $labels.instance }} does not answer; its sessions are lost.",
    }),
    rule("OpenEnvServersMissing", "5m", "critical", {
      expr: `sum(up${here}) < ${nodes + spareNodes} or absent(up${here})`,
      summary: `Fewer than ${nodes + spareNodes} servers are up.`,
    }),
    rule("OpenEnvNearlyFull", "5m", "warning", {
      expr: `${RECORDED.load}${here} > 0.9`,
      summary: `Clients want more than nine tenths of the sessions (${nodeCapacity(topology)} a server): add servers.`,
    }),
    rule("OpenEnvRefusals", "0m", "warning", {
      expr: `${sum(turnedAway(`job="${name}"`, "5m"))} > 0`,
      summary: "Clients got no session because none was free.",
    }),
    rule("OpenEnvQueue", "1m", "warning", {
      expr: `${sum(`${metric("openenv_sessions_waiting")}${here}`)} > 0`,
      summary: "Clients wait for a session.",
    }),
    rule("OpenEnvWorkerRestarts", "0m", "warning", {
      expr: `increase(${metric("openenv_worker_restarts_total")}${here}[10m]) > 0`,
      summary: "{{ $labels.instance }} lost a worker and its sessions; its log says why.",
    }),
    rule("OpenEnvErrors", "5m", "warning", {
      note: "Of the server and its environment. Mistakes of clients are recorded, and wake nobody.",
      expr:
        `${RECORDED.serverErrors}${here} > 0.01 * sum by (job) (rate(${metric("openenv_steps_total")}${here}[5m]) + ` +
        `rate(${metric("openenv_reset_duration_seconds")}_count${here}[5m]))`,
      summary: "More than one failure in a hundred steps and resets: the environment fails, or is too slow.",
    }),
    rule("OpenEnvEventLoopLag", "5m", "warning", {
      expr:
        `histogram_quantile(0.9, sum by (instance, worker, le) ` +
        `(rate(${metric("openenv_event_loop_lag_seconds")}_bucket${here}[5m]))) > 0.5`,
      summary:
        "A worker of {{ $labels.instance }} is late in one second of ten: its steps block, or it has too many sessions.",
    }),
    rule("OpenEnvDescriptors", "5m", "warning", {
      expr: `${metric("process_open_fds")}${here} / ${metric("process_max_fds")}${here} > 0.8`,
      summary: "A worker of {{ $labels.instance }} is short of descriptors: raise its limit (ulimit -n).",
    }),
    ...balancerRules(topology),
  ];
  return { groups: [{ name, rules }] };
}

/** Of Envoys side by side each has room for its share. */
function balancerRules(topology: Topology): object[] {
  const { kind, metricsPort } = topology.balancer;
  if (metricsPort === undefined) return [];
  const room = { haproxy: totalLimit(topology, mostNodes(topology)), envoy: sizeEnvoys(topology).connections };
  const isFull = (["haproxy", "envoy"] as const)
    .filter((one) => kind === undefined || kind === one)
    .map((one) => `${connections(one, topology)} > ${Math.floor(0.9 * room[one])}`);
  return [
    rule("OpenEnvBalancerNearlyFull", "5m", "warning", {
      expr: isFull.join(" or "),
      summary:
        "{{ $labels.instance }} has nine tenths of its connections open: further clients will wait or be refused.",
    }),
  ];
}

interface Rule {
  expr: string;
  summary: string;
  /** A comment. */
  note?: string;
}

function recorded({ name }: Topology, record: string, expr: string): object {
  return { record, expr, labels: { job: name } };
}

function rule(alert: string, wait: string, severity: string, { expr, summary, note }: Rule) {
  return {
    alert,
    ...(note && { [`# ${note}`]: null }),
    expr,
    for: wait,
    labels: { severity },
    annotations: { summary },
  };
}
