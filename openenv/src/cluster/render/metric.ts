import type { METRICS } from "../../server/statistics/metrics.js";

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

/**
 * What the clients want of the capacity: 1 when all sessions are in use, more when clients wait or were refused in the
 * last minute. The number of sessions alone could not say so, because it ends at the capacity.
 */
export function loadRatio(matchers: string, by = ""): string {
  const sum = (expression: string): string => `sum(${expression})${by && ` by (${by})`}`;
  const gauge = (name: Parameters<typeof metric>[0]): string => sum(`${metric(name)}{${matchers}}`);
  const refused = `increase(${metric("openenv_refusals_total")}{${matchers},reason=~"full|queue_timeout"}[1m])`;
  const wanted = [
    gauge("openenv_sessions"),
    `- ${gauge("openenv_sessions_unclaimed")}`,
    `+ ${gauge("openenv_sessions_waiting")}`,
    // A counter that was scraped once has no increase yet.
    `+ (${sum(refused)} or 0 * ${gauge("openenv_sessions_waiting")})`,
  ];
  return `(${wanted.join(" ")}) / ${gauge("openenv_sessions_max")}`;
}
