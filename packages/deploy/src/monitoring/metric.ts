import type { METRICS } from "openenv-ts/internal";
import type { Topology } from "../topology.js";

/** A name that `GET /metrics` has; a wrong one does not compile. */
export function metric(name: keyof typeof METRICS): string {
  return name;
}

/** The recorded rules of `alerts.yaml`. */
export const RECORDED = {
  load: "openenv:load:ratio",
  serverErrors: "openenv:server_errors:rate5m",
  clientErrors: "openenv:client_errors:rate5m",
} as const;

/** How many clients got no session within that time, because none was free. */
export function turnedAway(matchers: string, time: string): string {
  return `increase(${metric("openenv_rejections_total")}{${matchers},reason=~"full|queue_timeout|http_reset"}[${time}])`;
}

/** The scrape job of balancers with `metricsPort`. */
export function balancerJobName({ name }: Topology): string {
  return `${name}-balancer`;
}

/** The connections that clients have open at such a balancer: the metric and the label of the port that they use. */
export const CONNECTIONS = {
  haproxy: ["haproxy_frontend_current_sessions", 'proxy="openenv"'],
  envoy: ["envoy_http_downstream_cx_active", 'envoy_http_conn_manager_prefix="openenv"'],
} as const;

export function connections(kind: keyof typeof CONNECTIONS, topology: Topology): string {
  const [name, label] = CONNECTIONS[kind];
  return `${name}{job="${balancerJobName(topology)}",${label}}`;
}

/**
 * What the clients want of the capacity: 1 when all sessions are in use, more when clients wait or were refused in the
 * last minute. The number of sessions alone could not say so, because it ends at the capacity.
 */
export function loadRatio(matchers: string, by = ""): string {
  const sum = (expression: string): string => `sum(${expression})${by && ` by (${by})`}`;
  const gauge = (name: Parameters<typeof metric>[0]): string => sum(`${metric(name)}{${matchers}}`);
  const wanted = [
    gauge("openenv_sessions"),
    `- ${gauge("openenv_sessions_unclaimed")}`,
    `+ ${gauge("openenv_sessions_waiting")}`,
    // A counter that was scraped once has no increase yet.
    `+ (${sum(turnedAway(matchers, "1m"))} or 0 * ${gauge("openenv_sessions_waiting")})`,
  ];
  return `(${wanted.join(" ")}) / ${gauge("openenv_sessions_max")}`;
}
