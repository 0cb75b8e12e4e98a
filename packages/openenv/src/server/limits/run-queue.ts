import { Fifo } from "../../util/async/fifo.js";

/** Milliseconds of work of clients that do not wait for answers after which the event loop gets to do something else. */
const TURN_MS = 5;
/** Milliseconds of a turn for one connection while others wait. */
const SLICE_MS = 1;
/** A message of this size takes long enough to look at the clock after it, bytes. */
export const LARGE_MESSAGE = 8 * 1024;

/** A connection whose messages can wait for their turn. */
export interface Runnable {
  /** It is in the queue. */
  scheduled: boolean;
  /** What it begins continues in promises, which run when the turn of the event loop is over: so it is the last of it. */
  readonly endsTurn: boolean;
  /** Handles messages until {@link RunQueue.isSpent}; true when more wait. */
  runSlice(): boolean;
}

/**
 * Shares the event loop between the connections of a server, sockets and HTTP alike. Messages that arrive singly are
 * answered at once; large ones, and those of a peer that sends many at a time, are answered here when a turn of the loop
 * does not suffice for them: round robin, a slice per connection, and after each turn the loop handles its other events.
 */
export class RunQueue {
  readonly #waiting = new Fifo<Runnable>();
  #isArmed = false;
  /** Work was done in this turn before its queue was come to. */
  #hasBegun = false;
  #until = 0;
  readonly #turn = (): void => this.#run();

  /** No time is left for more than one message at a time in this turn. It reads the clock. */
  isSpent(): boolean {
    const now = performance.now();
    if (this.#isArmed) return now >= this.#until;
    this.#arm();
    this.#hasBegun = true;
    this.#until = now + TURN_MS;
    return false;
  }

  add(runnable: Runnable): void {
    if (runnable.scheduled) return;
    runnable.scheduled = true;
    this.#waiting.push(runnable);
    this.#arm();
  }

  #arm(): void {
    if (this.#isArmed) return;
    this.#isArmed = true;
    setImmediate(this.#turn);
  }

  #run(): void {
    let now = performance.now();
    // What came in meanwhile is next when the turn is over already.
    let end = this.#hasBegun ? this.#until : now + TURN_MS;
    this.#hasBegun = false;
    while (this.#waiting.size > 0 && now < end) {
      const next = this.#waiting.shift() as Runnable;
      next.scheduled = false;
      this.#until = now + SLICE_MS;
      if (next.runSlice()) this.add(next);
      now = performance.now();
      if (next.endsTurn) end = now;
    }
    this.#until = now;
    this.#isArmed = false;
    if (this.#waiting.size > 0) this.#arm();
  }
}
