import type { WorkerLoad } from "../session/registry/cluster.js";
import type { ClusterPeer } from "./messages.js";

/** Sessions, and share of the average, by which a worker may be ahead of the others before it passes new ones on. */
const SLACK = 16;
const UNEVEN = 1.15;

/**
 * How many of its next sockets a worker should pass on to come nearer to the others. Both loads are of the same moment:
 * an own load that is newer than those of the others looks ahead of them in every burst.
 */
export function surplus(own: WorkerLoad, others: readonly ClusterPeer[]): number {
  if (others.length === 0) return 0;
  const average = others.reduce((sum, { load }) => sum + load.active, own.active) / (others.length + 1);
  if (own.active <= average * UNEVEN + SLACK) return 0;
  // Half of it: what is on its way at this moment is in nobody's count.
  return Math.ceil((own.active - average) / 2);
}

/** Whether a worker without room should have another take a socket, rather than let it wait here. */
export function shouldHandOff(own: WorkerLoad, others: readonly ClusterPeer[]): boolean {
  if (roomElsewhere(own, others) !== undefined) return true;
  if (own.unclaimed > 0) return false;
  if (own.waiting >= own.queueSize) return others.length > 0;
  const shortest = Math.min(...others.map(({ load }) => load.waiting));
  return own.waiting > shortest * UNEVEN + SLACK;
}

/** The other worker that should open a session in the place of a full one; none when that one can make room itself. */
export function roomElsewhere(own: WorkerLoad, others: readonly ClusterPeer[]): ClusterPeer | undefined {
  const best = leastLoaded(others);
  if (best === undefined || hasRoom(own)) return undefined;
  return hasRoom(best.load) || (best.load.unclaimed > 0 && own.unclaimed === 0) ? best : undefined;
}

/**
 * The worker that should take the next session: one with room and the least to do, else one that can make room, else the
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
