import type { ServerCapacityStatus } from "../protocol/http.js";
import type { Load } from "./fleet.js";

/** What one server, or several behind one address, can hold together. */
export function totalCapacity(loads: readonly Pick<Load, "active" | "max">[]): ServerCapacityStatus {
  const active = loads.reduce((sum, load) => sum + load.active, 0);
  const max = loads.reduce((sum, load) => sum + load.max, 0);
  return { active_sessions: active, max_sessions: max, available_slots: max - active, is_at_capacity: active >= max };
}
