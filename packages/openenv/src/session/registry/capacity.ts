import type { ServerCapacityStatus } from "../../protocol/http.js";
import type { WorkerLoad } from "./cluster.js";

/** The capacity of one server or a whole cluster. Sessions that may end to make room count as available. */
export function totalCapacity(
  loads: readonly Pick<WorkerLoad, "active" | "unclaimed" | "max">[],
): ServerCapacityStatus {
  const sum = (value: (load: (typeof loads)[number]) => number): number =>
    loads.reduce((all, one) => all + value(one), 0);
  const active = sum((load) => load.active);
  const max = sum((load) => load.max);
  const available = max - active + sum((load) => load.unclaimed);
  return { active_sessions: active, max_sessions: max, available_slots: available, is_at_capacity: available <= 0 };
}
