import type { Topology } from "../topology.js";
import { connections, loadRatio, metric } from "./metric.js";

interface Graph {
  title: string;
  unit: string;
  /** Legends and expressions. */
  queries: [string, string][];
}

/** The JSON of a Grafana dashboard; Grafana asks for the Prometheus data source on import. */
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
  const sum = (name: Parameters<typeof metric>[0]): string => `sum(${here(name)})`;
  const quantile = (share: number, name: Parameters<typeof metric>[0]): string =>
    `histogram_quantile(${share}, sum by (le) (rate(${metric(name)}_bucket{job="${job}"}[$__rate_interval])))`;
  const worker = "{{instance}} worker {{worker}}";
  const graph = (title: string, unit: string, queries: Record<string, string>): Graph => ({
    title,
    unit,
    queries: Object.entries(queries),
  });
  return [
    graph("Sessions and capacity", "short", {
      "in use": `${sum("openenv_sessions")} - ${sum("openenv_sessions_unclaimed")}`,
      "not used yet": sum("openenv_sessions_unclaimed"),
      capacity: sum("openenv_sessions_max"),
      waiting: sum("openenv_sessions_waiting"),
    }),
    graph("Load by capacity", "percentunit", { "in use, waiting and rejected in a minute": loadRatio(`job="${job}"`) }),
    graph("Rejected sessions by reason", "reqps", {
      "{{reason}}": `sum by (reason) (${rate("openenv_rejections_total")})`,
    }),
    graph("Draining and paused servers", "short", {
      draining: `sum(max by (instance) (${here("openenv_draining")}))`,
      paused: `sum(max by (instance) (${here("openenv_paused")}))`,
    }),
    graph("Sessions of each worker", "short", { [worker]: here("openenv_sessions") }),
    graph("Steps", "reqps", { steps: `sum(${rate("openenv_steps_total")})` }),
    graph("Step duration, and wait in the server", "s", {
      p50: quantile(0.5, "openenv_step_duration_seconds"),
      p90: quantile(0.9, "openenv_step_duration_seconds"),
      p99: quantile(0.99, "openenv_step_duration_seconds"),
      "wait p99": quantile(0.99, "openenv_step_wait_seconds"),
    }),
    graph("Reset duration, and wait for a session", "s", {
      "reset p99": quantile(0.99, "openenv_reset_duration_seconds"),
      "wait p99": quantile(0.99, "openenv_session_wait_seconds"),
    }),
    graph("Errors by code", "reqps", {
      "{{code}} ({{fault}})": `sum by (fault, code) (${rate("openenv_errors_total")}) > 0`,
    }),
    graph("Opened sessions and lost workers", "short", {
      "opened per second": `sum(${rate("openenv_sessions_opened_total")})`,
      "lost in 10 minutes": `sum(increase(${here("openenv_worker_restarts_total")}[10m]))`,
    }),
    graph("Event loop lag", "s", {
      p50: quantile(0.5, "openenv_event_loop_lag_seconds"),
      p100: quantile(1, "openenv_event_loop_lag_seconds"),
    }),
    graph("CPU", "short", { [worker]: rate("process_cpu_seconds_total") }),
    graph("Memory", "bytes", { [worker]: here("process_resident_memory_bytes") }),
    graph("Sockets and file descriptors", "short", {
      WebSockets: sum("openenv_websockets"),
      descriptors: sum("process_open_fds"),
      limit: sum("process_max_fds"),
    }),
  ];
}

/** The target decides which of the two runs. */
function balancerGraph(topology: Topology): Graph {
  return {
    title: "Connections of each balancer",
    unit: "short",
    queries: (["haproxy", "envoy"] as const).map((kind) => ["{{instance}}", connections(kind, topology)]),
  };
}

/** Two panels in a row. */
function renderPanel({ title, unit, queries }: Graph, index: number): object {
  // biome-ignore lint/suspicious/noTemplateCurlyInString: Grafana replaces the variable.
  const datasource = { type: "prometheus", uid: "${DS_PROMETHEUS}" };
  return {
    id: index + 1,
    type: "timeseries",
    title,
    datasource,
    gridPos: { x: (index % 2) * 12, y: Math.floor(index / 2) * 8, w: 12, h: 8 },
    fieldConfig: { defaults: { unit, min: 0 }, overrides: [] },
    targets: queries.map(([legend, expr], query) => ({
      refId: String.fromCharCode(65 + query),
      datasource,
      expr,
      legendFormat: legend,
    })),
  };
}
