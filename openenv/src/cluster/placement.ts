import type { Load } from "../server/fleet.js";
import type { Member } from "./messages.js";

/** Sessions by which a worker may be ahead of the others before it passes new ones on. */
const SLACK = 4;
const UNEVEN = 1.1;

/** True when a worker with this load should not take one more session while others could. */
export function isAhead(own: Load, others: readonly Member[]): boolean {
  if (others.length === 0) return false;
  // What this one knows of the others is some milliseconds old: the supervisor knows better whether one has room.
  if (own.active >= own.max) return true;
  const total = others.reduce((sum, { load }) => sum + load.active, own.active);
  return own.active > (total / (others.length + 1)) * UNEVEN + SLACK;
}

/** The worker that should take the next session: one with room and the least to do, else the shortest queue. */
export function leastLoaded(members: readonly Member[]): Member | undefined {
  const withRoom = members.filter(({ load }) => load.active < load.max);
  const [first, ...rest] = withRoom.length > 0 ? withRoom : members;
  return rest.reduce((best, next) => (burden(next.load) < burden(best?.load) ? next : best), first);
}

function burden(load: Load | undefined): number {
  return load === undefined ? Number.POSITIVE_INFINITY : load.active + load.waiting;
}
