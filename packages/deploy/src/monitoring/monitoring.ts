import { countEnvoyServers, countServers, mostNodes, totalLimit } from "../limits.js";
import { sizeEnvoys } from "../sizing.js";
import type { RenderedFiles } from "../targets.js";
import { type Backend, nodeCapacity, readJournal, type Topology } from "../topology.js";
import { renderYaml } from "../yaml.js";
import { renderDashboard } from "./dashboard.js";
import { balancerJobName, connections, loadRatio, metric, RECORDED, turnedAway } from "./metric.js";

/**
 * The monitoring of a deployment: a scrape job and alert rules for Prometheus, and a dashboard for Grafana. With
 * `backends` these are the servers; otherwise they are found by the names of a swarm or of Compose.
 */
export function renderMonitoring(topology: Topology, backends: readonly Backend[]): RenderedFiles {
  return {
    "prometheus.yaml": renderYaml(scrape(topology, backends)),
    "alerts.yaml": renderYaml(alerts(topology, backends)),
    "dashboard.json": renderDashboard(topology),
  };
}

/** The scrape jobs for Kubernetes: their series have the labels namespace and pod, which an autoscaler needs. */
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
    "# Only the port of our container, and only Pods that have not ended.": null,
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

function scrape(topology: Topology, backends: readonly Backend[]): object {
  const { metricsPort, host } = topology.balancer;
  const isGiven = backends.length > 0;
  const addresses = backends.map((one) => `${one.host}:${one.port}`);
  const job = {
    ...jobOf(topology),
    "# Each server, not the balancer, which would pass each scrape to one of them.": null,
    ...(isGiven ? listed(addresses) : { ...DISCOVERY_NOTE, ...looked("tasks.env", topology.port) }),
  };
  const isLocal = ["0.0.0.0", "::"].includes(host);
  const balancers = metricsPort !== undefined && {
    ...balancerJob(topology),
    ...(isGiven && isLocal && { "# If Prometheus runs on another machine than the balancer: its address.": null }),
    ...(isGiven ? listed([`${isLocal ? "localhost" : host}:${metricsPort}`]) : looked("tasks.balancer", metricsPort)),
  };
  return { rule_files: ["alerts.yaml"], scrape_configs: [job, ...(balancers ? [balancers] : [])] };
}

const DISCOVERY_NOTE = {
  "# tasks.env is the name in a swarm's network; in Compose it is env. For Kubernetes use": null,
  "# prometheus.scrape.yaml, which is rendered with its manifests, instead of this job. For servers at": null,
  "# addresses of yours, render this file with --backend for each.": null,
};

function looked(name: string, port: number): object {
  return { dns_sd_configs: [{ names: [name], type: "A", port }] };
}

function listed(targets: readonly string[]): object {
  return { static_configs: [{ targets: [...targets] }] };
}

function jobOf({ name }: Topology): object {
  return {
    job_name: name,
    metrics_path: "/metrics",
    scrape_interval: "15s",
    "# The OPENENV_OPERATOR_TOKEN of the servers.": null,
    authorization: { type: "Bearer", credentials_file: "/etc/prometheus/openenv-operator-token" },
  };
}

function alerts(topology: Topology, backends: readonly Backend[]): object {
  const { name, nodes, spareNodes } = topology;
  const servers = backends.length || nodes + spareNodes;
  const here = `{job="${name}"}`;
  const sum = (expression: string): string => `sum(${expression})`;
  const rate = (what: string): string => sum(`rate(${what}[5m])`);
  const errors = (labels: string): string => rate(`${metric("openenv_errors_total")}{job="${name}",${labels}}`);
  const rules = [
    recorded(topology, RECORDED.load, loadRatio(`job="${name}"`)),
    recorded(topology, RECORDED.serverErrors, errors('fault!="client",code!="CAPACITY_REACHED"')),
    recorded(topology, RECORDED.clientErrors, errors('fault="client"')),
    rule("OpenEnvServerDown", "2m", "critical", {
      expr: `up${here} == 0`,
      summary: `{{ $labels.instance }} does not answer. ${describeLoss(topology)}`,
    }),
    rule("OpenEnvServersMissing", "5m", "critical", {
      expr: `sum(up${here}) < ${servers} or absent(up${here})`,
      summary: `Fewer than ${servers} servers are up.`,
    }),
    rule("OpenEnvNearlyFull", "5m", "warning", {
      expr: `${RECORDED.load}${here} > 0.9`,
      summary: `Clients use or wait for more than 90 % of the sessions (${nodeCapacity(topology)} per server): add servers.`,
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
      summary: `{{ $labels.instance }} lost a worker. ${KEPT} Its log has the reason.`,
    }),
    rule("OpenEnvErrors", "5m", "warning", {
      note: "Errors of the server and its environment. Errors of clients are recorded, but raise no alert.",
      expr:
        `${RECORDED.serverErrors}${here} > 0.01 * sum by (job) (rate(${metric("openenv_steps_total")}${here}[5m]) + ` +
        `rate(${metric("openenv_reset_duration_seconds")}_count${here}[5m]))`,
      summary: "More than 1 % of steps and resets fail: the environment throws errors, or is too slow.",
    }),
    rule("OpenEnvJournalAway", "1m", "critical", {
      expr: `${metric("openenv_journal_up")}${here} == 0`,
      summary:
        "A worker of {{ $labels.instance }} cannot use its journal: it holds answers and refuses sessions that it would keep. Its log has the cause.",
    }),
    rule("OpenEnvJournalSlow", "5m", "warning", {
      expr:
        `histogram_quantile(0.9, sum by (instance, le) ` +
        `(rate(${metric("openenv_journal_commit_seconds")}_bucket${here}[5m]))) > 0.5`,
      summary:
        "One commit of ten of {{ $labels.instance }} takes more than half a second, and its answers wait for it.",
    }),
    rule("OpenEnvEventLoopLag", "5m", "warning", {
      expr:
        `histogram_quantile(0.9, sum by (instance, worker, le) ` +
        `(rate(${metric("openenv_event_loop_lag_seconds")}_bucket${here}[5m]))) > 0.5`,
      summary:
        "The event loop of a worker of {{ $labels.instance }} lags in one second of ten: its steps block, or it has too many sessions.",
    }),
    rule("OpenEnvDescriptors", "5m", "warning", {
      expr: `${metric("process_open_fds")}${here} / ${metric("process_max_fds")}${here} > 0.8`,
      summary: "A worker of {{ $labels.instance }} is running out of file descriptors: raise its limit (ulimit -n).",
    }),
    ...memoryRules(topology),
    ...balancerRules(topology, backends),
  ];
  return { groups: [{ name, rules }] };
}

function memoryRules(topology: Topology): object[] {
  const { memoryMb } = topology.resources;
  const here = `{job="${topology.name}"}`;
  const resident = `${metric("process_resident_memory_bytes")}${here}`;
  // Memory is kept for a while when sessions have ended.
  const sessions = `sum by (instance) (max_over_time(${metric("openenv_sessions")}${here}[1h]))`;
  const capacity = nodeCapacity(topology);
  return [
    rule("OpenEnvHeap", "5m", "warning", {
      expr: `${metric("openenv_heap_used_bytes")}${here} / ${metric("openenv_heap_limit_bytes")}${here} > 0.85`,
      summary:
        "The heap of a worker of {{ $labels.instance }} is nearly full, and a worker whose heap is full ends with its sessions: raise HEAP_MB, or lower MAX_CONCURRENT_ENVS.",
    }),
    rule("OpenEnvSessionMemory", "10m", "warning", {
      note: `What a session would have of ${memoryMb} MB at capacity, beyond ${START_MB} MB of each worker. Few sessions say nothing.`,
      expr:
        `(sum by (instance) (${resident}) - ${START_MB}e6 * count by (instance) (${resident})) / ${sessions} > ` +
        `${memoryMb - START_MB * topology.workers}e6 / ${capacity} and ${sessions} > ${capacity} / 5`,
      summary:
        "The sessions of {{ $labels.instance }} take so much memory that it ends before it is full: raise its memory, or lower MAX_CONCURRENT_ENVS.",
    }),
  ];
}

/** Servers that are started by hand may have a journal that the topology does not name. */
function describeLoss(topology: Topology): string {
  if (topology.journal === undefined && readJournal(topology).redis === undefined) return KEPT;
  return "Other servers continue those of its sessions that are in the journal; the others are lost.";
}

/** What a worker takes without sessions: benchmarks/reports/ONE-SERVER.md. */
const START_MB = 90;

const KEPT = "Its sessions are lost, except those that a journal has.";

/** Several Envoys share the connections; each has room for its share. */
function balancerRules(topology: Topology, backends: readonly Backend[]): object[] {
  const { kind, metricsPort } = topology.balancer;
  if (metricsPort === undefined) return [];
  const room =
    backends.length > 0
      ? {
          haproxy: totalLimit(topology, countServers(topology, backends)),
          envoy: totalLimit(topology, countEnvoyServers(topology, backends)),
        }
      : { haproxy: totalLimit(topology, mostNodes(topology)), envoy: sizeEnvoys(topology).connections };
  const isFull = (["haproxy", "envoy"] as const)
    .filter((one) => kind === undefined || kind === one)
    .map((one) => `${connections(one, topology)} > ${Math.floor(0.9 * room[one])}`);
  return [
    rule("OpenEnvBalancerNearlyFull", "5m", "warning", {
      expr: isFull.join(" or "),
      summary: "{{ $labels.instance }} uses 90 % of its connections: more clients will wait or be rejected.",
    }),
  ];
}

interface Rule {
  expr: string;
  summary: string;
  /** A YAML comment. */
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
