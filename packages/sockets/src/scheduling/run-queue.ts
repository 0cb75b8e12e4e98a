import { Fifo } from "./fifo.js";
import { nextTurn } from "./next-turn.js";

/** Milliseconds of queued work after which the event loop handles its other events. */
const TURN_MS = 5;
/** Milliseconds of a turn for one connection, while others wait. */
const SLICE_MS = 1;
/** The size at which a message takes long enough to check the clock after it, bytes. */
export const LARGE_MESSAGE = 8 * 1024;

/** A connection whose messages can wait for their turn. */
export interface Runnable {
  /** True while it is in the queue. */
  scheduled: boolean;
  /** Its work continues in promises, which run after this turn of the event loop: it is the last in the turn. */
  readonly endsTurn: boolean;
  /** Handles messages until {@link RunQueue.isSpent}; returns true when more wait. */
  runSlice(): boolean;
}

/**
 * Shares the event loop between the connections of a server, sockets and HTTP alike. Single messages are answered at
 * once. Large messages, and those of a peer that sends many at a time, are queued here if they do not fit into a turn
 * of the loop: round robin, a slice for each connection, and after each turn the loop handles its other events.
 */
export class RunQueue {
  readonly #waiting = new Fifo<Runnable>();
  #isArmed = false;
  /** True when work was done in this turn before the queue ran. */
  #hasBegun = false;
  #until = 0;
  readonly #turn = (): void => this.#run();

  /** True when the time of this turn is used up. Reads the clock. */
  isSpent(): boolean {
    const now = performance.now();
    if (this.#isArmed) return now >= this.#until;
    this.#arm();
    this.#hasBegun = true;
    this.#until = now + TURN_MS;
    return false;
  }

  /** Resolves in a turn of the event loop for work that continues in promises: the work is the last in the turn. */
  turn(): Promise<void> {
    return new Promise((resolve) => this.add(new Turn(resolve)));
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
    nextTurn(this.#turn);
  }

  #run(): void {
    let now = performance.now();
    // If the turn is already over, data that arrived in the meantime comes first.
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

class Turn implements Runnable {
  scheduled = false;
  readonly endsTurn = true;
  readonly #begin: () => void;

  constructor(begin: () => void) {
    this.#begin = begin;
  }

  runSlice(): boolean {
    this.#begin();
    return false;
  }
}
