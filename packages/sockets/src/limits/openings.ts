import { Fifo } from "../scheduling/fifo.js";

/** Milliseconds of openings, after which the event loop handles its other events. */
const TURN_MS = 5;
/** While connections arrive, one socket is opened for this many. */
const ACCEPTED_FIRST = 16;
/** Arrivals that last longer are not a burst: from then on one socket is opened for each, so that none waits without limit. */
const MAX_BURST_MS = 5000;

/**
 * Accepts the connections of a burst first and opens their sockets later. The system resets connections that do not fit
 * into its queue, and Node accepts only one in each turn of the event loop.
 */
export class Openings {
  readonly #waiting = new Fifo<() => void>();
  #isArmed = false;
  /** Connections accepted in this turn. */
  #new = 0;
  /** Connections accepted since the last opening. */
  #accepted = 0;
  /** Since when sockets have been waiting. */
  #since = 0;
  readonly #turn = (): void => this.#run();

  /** A connection was accepted in this turn. */
  accepted(): void {
    this.#new++;
    this.#arm();
  }

  /** Opens a socket at once, unless connections are arriving or others wait. */
  add(open: () => void): void {
    if (!this.#isArmed) return open();
    if (this.#waiting.size === 0) this.#since = performance.now();
    this.#waiting.push(open);
  }

  #arm(): void {
    if (this.#isArmed) return;
    this.#isArmed = true;
    setImmediate(this.#turn);
  }

  #run(): void {
    this.#isArmed = false;
    const accepted = this.#new;
    this.#new = 0;
    if (this.#waiting.size === 0) return;
    this.#arm();
    if (accepted > 0) {
      const first = performance.now() - this.#since < MAX_BURST_MS ? ACCEPTED_FIRST : 1;
      for (this.#accepted += accepted; this.#accepted >= first; this.#accepted -= first) this.#waiting.shift()?.();
      return;
    }
    const end = performance.now() + TURN_MS;
    do this.#waiting.shift()?.();
    while (this.#waiting.size > 0 && performance.now() < end);
  }
}
