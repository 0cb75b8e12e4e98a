import type { WorkerLoad } from "#core/session/registry/capacity.js";
import type { ClusterPeer } from "./messages.js";

/** A worker passes new sessions on when it is this many sessions, and this share, above the average. */
const SLACK = 16;
const UNEVEN = 1.15;
/**
 * At most so many sockets are on their way to a worker to even out the loads. A worker confirms one in each turn of its
 * loop, so many would wait for seconds for a busy one, and meanwhile make it look ahead.
 */
const MAX_DUE = 8;

/**
 * Number of its next sockets that a worker should pass on to approach the average. Both loads must be of the same
 * moment: its own newer load would look too high in every burst.
 */
export function surplus(own: WorkerLoad, others: readonly ClusterPeer[]): number {
  if (others.length === 0) return 0;
  const average = others.reduce((sum, { load }) => sum + load.active, own.active) / (others.length + 1);
  if (own.active <= average * UNEVEN + SLACK) return 0;
  const room = others.reduce((sum, { due }) => sum + Math.max(0, MAX_DUE - due), 0);
  // Only half of it: sockets on their way to the supervisor are not counted anywhere.
  return Math.min(Math.ceil((own.active - average) / 2), room);
}

/** True when a worker without room should pass a socket to another worker instead of queueing it. */
export function shouldHandOff(own: WorkerLoad, others: readonly ClusterPeer[]): boolean {
  if (roomElsewhere(own, others) !== undefined) return true;
  if (own.unclaimed > 0) return false;
  if (own.waiting >= own.queueSize) return others.length > 0;
  const shortest = Math.min(...others.map(({ load }) => load.waiting));
  return own.waiting > shortest * UNEVEN + SLACK;
}

/** The worker that should open a session instead of a full one; undefined when the full one can make room itself. */
export function roomElsewhere(own: WorkerLoad, others: readonly ClusterPeer[]): ClusterPeer | undefined {
  const best = leastLoaded(others);
  if (best === undefined || hasRoom(own)) return undefined;
  return hasRoom(best.load) || (best.load.unclaimed > 0 && own.unclaimed === 0) ? best : undefined;
}

/**
 * The worker for the next session: the least loaded one with room, else one that can make room, else the one with the
 * shortest queue.
 */
export function leastLoaded(peers: readonly ClusterPeer[]): ClusterPeer | undefined {
  const withRoom = peers.filter(({ load }) => hasRoom(load));
  const willing = withRoom.length > 0 ? withRoom : peers.filter(({ load }) => load.unclaimed > 0);
  const [first, ...rest] = willing.length > 0 ? willing : peers;
  return rest.reduce((best, next) => (burden(next.load) < burden(best?.load) ? next : best), first);
}

export function hasRoom({ active, max }: WorkerLoad): boolean {
  return active < max;
}

function burden(load: WorkerLoad | undefined): number {
  return load === undefined ? Number.POSITIVE_INFINITY : load.active + load.waiting;
}
