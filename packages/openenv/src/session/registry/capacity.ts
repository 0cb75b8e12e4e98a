import type { ServerCapacityStatus } from "../../protocol/http.js";
import { errorData } from "../../protocol/messages.js";
import { SessionRejectedError } from "../session-rejected-error.js";

/** The load of one worker. */
export interface WorkerLoad {
  /** Open sessions. */
  active: number;
  /** Open sessions that may end now to make room, because their clients have never used them or not for a long time. */
  unclaimed: number;
  max: number;
  /** Peers waiting for a session. */
  waiting: number;
  /** Maximum number of waiting peers. */
  queueSize: number;
}

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

/** Why no session is opened. */
export function rejection(
  { active_sessions, max_sessions }: ServerCapacityStatus,
  why: "full" | "draining" | "paused",
): SessionRejectedError {
  const message = {
    full: `Server at capacity: ${active_sessions} of ${max_sessions} sessions are open. Try again later.`,
    draining: "The server is shutting down and opens no new sessions. Try another server, or try again later.",
    paused: "An operator has paused the server, which opens no new sessions. Try another server, or try again later.",
  }[why];
  return new SessionRejectedError(errorData("CAPACITY_REACHED", message, { active_sessions, max_sessions }));
}
