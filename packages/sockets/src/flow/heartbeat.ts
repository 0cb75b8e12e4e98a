import { CLOSE } from "../close-codes.js";
import { Registry } from "../scheduling/registry.js";

/** Pings are sent in this many groups, so that thousands of sockets do not make one long turn of the event loop. */
const GROUPS = 20;
const MISSED_PINGS = 2;

export interface HeartbeatPeer {
  index: number;
  missedPings: number;
  wasHeard(): boolean;
  ping(): void;
  drop(code: number, reason: string): void;
}

/** Detects peers that have disappeared. A peer that answers pings is never dropped. */
export class Heartbeat<P extends HeartbeatPeer> {
  readonly #groups: Registry<P>[] = Array.from({ length: GROUPS }, () => new Registry<P>());
  readonly #timer: NodeJS.Timeout;
  #turn = 0;
  /** The group of the next peer. */
  #next = 0;

  constructor(intervalMs: number) {
    this.#timer = setInterval(() => this.#beat(), intervalMs / GROUPS);
    this.#timer.unref();
  }

  /** Pings a peer until it is removed from the returned group. */
  watch(peer: P): Registry<P> {
    const group = this.#groups[this.#next] as Registry<P>;
    this.#next = (this.#next + 1) % GROUPS;
    group.add(peer);
    return group;
  }

  get size(): number {
    return this.#groups.reduce((sum, group) => sum + group.size, 0);
  }

  /** All peers that receive pings. */
  peers(): P[] {
    return this.#groups.flatMap((group) => [...group]);
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #beat(): void {
    this.#turn = (this.#turn + 1) % GROUPS;
    for (const peer of this.#groups[this.#turn] ?? []) {
      if (peer.wasHeard()) peer.missedPings = 0;
      else peer.missedPings++;
      if (peer.missedPings >= MISSED_PINGS) peer.drop(CLOSE.noPong, "no answer to pings");
      else peer.ping();
    }
  }
}
