import type { METRICS } from "../../server/statistics/metrics.js";

/** A name that `GET /metrics` has; a wrong one does not compile. */
export function metric(name: keyof typeof METRICS): string {
  return name;
}
