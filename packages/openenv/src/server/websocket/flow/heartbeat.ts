import { CLOSE_CODES } from "../../../protocol/messages.js";
import { Registry } from "../../../session/registry/registry.js";
import type { Connection } from "../connection.js";

/** Pings go out in this many groups, so that thousands of sockets do not make one long turn. */
const GROUPS = 20;
const MISSED_PINGS = 2;

/** A socket and its connection. */
export interface HeartbeatPeer {
  readonly connection: Connection;
  index: number;
  ping(): void;
}

/** Finds peers that are gone without a word. One that answers pings is never dropped. */
export class Heartbeat<P extends HeartbeatPeer> {
  readonly #groups: Registry<P>[] = Array.from({ length: GROUPS }, () => new Registry<P>());
  readonly #timer: NodeJS.Timeout;
  #turn = 0;

  constructor(intervalMs: number) {
    this.#timer = setInterval(() => this.#beat(), intervalMs / GROUPS);
    this.#timer.unref();
  }

  /** Watches a peer until it is removed from the group that is returned. */
  watch(peer: P): Registry<P> {
    const group = this.#groups.reduce((smallest, next) => (next.size < smallest.size ? next : smallest));
    group.add(peer);
    return group;
  }

  get size(): number {
    return this.#groups.reduce((sum, group) => sum + group.size, 0);
  }

  /** All peers that are watched. */
  peers(): P[] {
    return this.#groups.flatMap((group) => [...group]);
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #beat(): void {
    this.#turn = (this.#turn + 1) % GROUPS;
    for (const peer of this.#groups[this.#turn] ?? []) {
      const { connection } = peer;
      if (connection.wasHeard()) connection.missedPings = 0;
      else connection.missedPings++;
      if (connection.missedPings >= MISSED_PINGS) connection.drop(CLOSE_CODES.noPong, "no answer to pings");
      else peer.ping();
    }
  }
}
