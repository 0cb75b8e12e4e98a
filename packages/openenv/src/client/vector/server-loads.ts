import type { ServerTarget } from "./server-target.js";
import type { SocketGroup } from "./socket-group.js";

/** The number of sockets that look for servers behind an address at the same time. */
export const LOOKS = 4;
/** The interval at which they look again, while episodes begin. */
export const LOOK_MS = 10_000;

/** The sessions of this client on each server behind one address; a socket whose server is not known counts alone. */
export class ServerLoads {
  readonly #groups: SocketGroup[];
  readonly #loads = new Map<string | SocketGroup, number>();

  constructor(groups: Iterable<SocketGroup>, target: ServerTarget) {
    this.#groups = [...groups].filter((group) => group.target === target);
    for (const group of this.#groups) this.add(group, group.size);
  }

  /** The number of sessions of each server if all have the same number, rounded up. */
  get share(): number {
    const all = [...this.#loads.values()];
    return Math.ceil(all.reduce((sum, load) => sum + load, 0) / all.length);
  }

  hasAbove(load: number): boolean {
    return [...this.#loads.values()].some((own) => own > load);
  }

  get servers(): number {
    return this.#loads.size;
  }

  of(group: SocketGroup): number {
    return this.#loads.get(group.server ?? group) ?? 0;
  }

  has(group: SocketGroup): boolean {
    return this.#loads.has(group.server ?? group);
  }

  add(group: SocketGroup, count: number): void {
    this.#loads.set(group.server ?? group, this.of(group) + count);
  }

  /** The socket with room on the server with the fewest sessions, fewer than `below`; `planned`: its next sessions. */
  roomiest(below = Number.POSITIVE_INFINITY, planned?: ReadonlyMap<SocketGroup, unknown[]>): SocketGroup | undefined {
    const now = performance.now();
    let best: SocketGroup | undefined;
    let least = below;
    for (const group of this.#groups) {
      if (
        !group.hasRoomFor(1 + (planned?.get(group)?.length ?? 0)) ||
        group.avoidedUntil > now ||
        this.of(group) >= least
      )
        continue;
      best = group;
      least = this.of(group);
    }
    return best;
  }
}
