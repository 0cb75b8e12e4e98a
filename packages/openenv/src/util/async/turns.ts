import { settled } from "./settled.js";

/** Performs tasks one after the other. A task that takes longer than the limit does not delay the next one any more. */
export class Turns {
  /** The number of tasks that have not begun. */
  waiting = 0;
  readonly #limitMs: number;
  #free: Promise<void> = Promise.resolve();

  constructor(limitMs: number) {
    this.#limitMs = limitMs;
  }

  /** `ready`: what the task also waits for when its turn has come. */
  take<T>(task: () => Promise<T>, ready?: () => Promise<void>): Promise<T> {
    const before = this.#free;
    this.waiting++;
    const done = before.then(ready).then(() => {
      this.waiting--;
      return task();
    });
    this.#free = before.then(() => settled(done, this.#limitMs));
    return done;
  }
}
