import type { Topology } from "../topology.js";
import { connections, loadRatio, metric } from "./metric.js";

interface Query {
  expr: string;
  legend: string;
}

interface Graph {
  title: string;
  unit: string;
  queries: Query[];
}

/** The JSON of a Grafana dashboard; on import it asks which Prometheus to read. */
export function renderDashboard(topology: Topology): string {
  const { name, balancer } = topology;
  const shown = [...graphs(name), ...(balancer.metricsPort === undefined ? [] : [balancerGraph(topology)])];
  const dashboard = {
    __inputs: [{ name: "DS_PROMETHEUS", label: "Prometheus", type: "datasource", pluginId: "prometheus" }],
    uid: `openenv-${name}`.slice(0, 40),
    title: `OpenEnv: ${name}`,
    tags: ["openenv"],
    schemaVersion: 39,
    refresh: "15s",
    time: { from: "now-1h", to: "now" },
    panels: shown.map(renderPanel),
  };
  return `${JSON.stringify(dashboard, null, 2)}\n`;
}

function graphs(job: string): Graph[] {
  const here = (name: Parameters<typeof metric>[0]): string => `${metric(name)}{job="${job}"}`;
  const rate = (name: Parameters<typeof metric>[0]): string => `rate(${here(name)}[$__rate_interval])`;
  const quantile = (share: number, name: Parameters<typeof metric>[0], what = ""): Query => ({
    expr: `histogram_quantile(${share}, sum by (le) (rate(${metric(name)}_bucket{job="${job}"}[$__rate_interval])))`,
    legend: `${what}p${share * 100}`,
  });
  const worker = "{{instance}} worker {{worker}}";
  return [
    {
      title: "Sessions and capacity",
      unit: "short",
      queries: [
        { expr: `sum(${here("openenv_sessions")}) - sum(${here("openenv_sessions_unclaimed")})`, legend: "in use" },
        { expr: `sum(${here("openenv_sessions_unclaimed")})`, legend: "not used yet" },
        { expr: `sum(${here("openenv_sessions_max")})`, legend: "capacity" },
        { expr: `sum(${here("openenv_sessions_waiting")})`, legend: "waiting" },
      ],
    },
    {
      title: "Load by capacity",
      unit: "percentunit",
      queries: [{ expr: loadRatio(`job="${job}"`), legend: "in use, waiting and refused in a minute" }],
    },
    {
      title: "Sessions refused, by reason",
      unit: "reqps",
      queries: [{ expr: `sum by (reason) (${rate("openenv_rejections_total")})`, legend: "{{reason}}" }],
    },
    {
      title: "Servers that drain or are paused",
      unit: "short",
      queries: [
        { expr: `sum(max by (instance) (${here("openenv_draining")}))`, legend: "draining" },
        { expr: `sum(max by (instance) (${here("openenv_paused")}))`, legend: "paused" },
      ],
    },
    {
      title: "Sessions of each worker",
      unit: "short",
      queries: [{ expr: here("openenv_sessions"), legend: worker }],
    },
    { title: "Steps", unit: "reqps", queries: [{ expr: `sum(${rate("openenv_steps_total")})`, legend: "steps" }] },
    {
      title: "Time of a step, and its wait in the server",
      unit: "s",
      queries: [
        ...[0.5, 0.9, 0.99].map((share) => quantile(share, "openenv_step_duration_seconds")),
        quantile(0.99, "openenv_step_wait_seconds", "wait "),
      ],
    },
    {
      title: "Time of a reset, and wait for a session",
      unit: "s",
      queries: [
        quantile(0.99, "openenv_reset_duration_seconds", "reset "),
        quantile(0.99, "openenv_session_wait_seconds", "wait "),
      ],
    },
    {
      title: "Errors by code",
      unit: "reqps",
      queries: [{ expr: `sum by (fault, code) (${rate("openenv_errors_total")}) > 0`, legend: "{{code}} ({{fault}})" }],
    },
    {
      title: "Sessions opened, workers lost",
      unit: "short",
      queries: [
        { expr: `sum(${rate("openenv_sessions_opened_total")})`, legend: "opened a second" },
        { expr: `sum(increase(${here("openenv_worker_restarts_total")}[10m]))`, legend: "lost in 10 minutes" },
      ],
    },
    {
      title: "Lag of the event loop",
      unit: "s",
      queries: [quantile(0.5, "openenv_event_loop_lag_seconds"), quantile(1, "openenv_event_loop_lag_seconds")],
    },
    { title: "CPU", unit: "short", queries: [{ expr: rate("process_cpu_seconds_total"), legend: worker }] },
    { title: "Memory", unit: "bytes", queries: [{ expr: here("process_resident_memory_bytes"), legend: worker }] },
    {
      title: "Sockets and descriptors",
      unit: "short",
      queries: [
        { expr: `sum(${here("openenv_websockets")})`, legend: "WebSockets" },
        { expr: `sum(${here("process_open_fds")})`, legend: "descriptors" },
        { expr: `sum(${here("process_max_fds")})`, legend: "limit" },
      ],
    },
  ];
}

/** Which of the two runs is what the target says. */
function balancerGraph(topology: Topology): Graph {
  return {
    title: "Connections of each balancer",
    unit: "short",
    queries: (["haproxy", "envoy"] as const).map((kind) => ({
      expr: connections(kind, topology),
      legend: "{{instance}}",
    })),
  };
}

/** Two beside each other. */
function renderPanel({ title, unit, queries }: Graph, index: number): object {
  // biome-ignore lint/suspicious/noTemplateCurlyInString: Grafana puts in what it asked for.
  const datasource = { type: "prometheus", uid: "${DS_PROMETHEUS}" };
  return {
    id: index + 1,
    type: "timeseries",
    title,
    datasource,
    gridPos: { x: (index % 2) * 12, y: Math.floor(index / 2) * 8, w: 12, h: 8 },
    fieldConfig: { defaults: { unit, min: 0 }, overrides: [] },
    targets: queries.map(({ expr, legend }, query) => ({
      refId: String.fromCharCode(65 + query),
      datasource,
      expr,
      legendFormat: legend,
    })),
  };
}
