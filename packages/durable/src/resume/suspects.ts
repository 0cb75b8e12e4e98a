import { setTimeout as sleep } from "node:timers/promises";
import { settled } from "#core/util/async/settled.js";
import { Turns } from "#core/util/async/turns.js";
import type { DurableSession } from "../session/durable-session.js";

/** The time that such a restore may delay the next one and first requests, and that it waits for those that run. */
const MAX_MS = 10_000;
const MAX_WAIT_MS = 5_000;
/** The time that all such restores of a process wait for first requests: after that, sessions are not delayed any more. */
const MAX_WAITS_MS = 60_000;
const POLL_MS = 20;

/**
 * Restores sessions during whose restore a process has ended. Only one is restored at a time, while no other session runs
 * its first request after a restore: the next end then counts for one of them.
 */
export class Suspects {
  /** The restore that runs; undefined when none does. */
  running: Promise<void> | undefined;
  readonly #turns = new Turns(MAX_MS);
  #waitedMs = 0;
  readonly #all: () => Iterable<DurableSession>;

  constructor(all: () => Iterable<DurableSession>) {
    this.#all = all;
  }

  get waiting(): number {
    return this.#turns.waiting;
  }

  restore<T>(task: () => Promise<T>): Promise<T> {
    const restored: Promise<T> = this.#turns.take(task, async () => {
      const running = settled(restored, MAX_MS).then(() => {
        if (this.running === running) this.running = undefined;
      });
      this.running = running;
      const began = performance.now();
      const deadline = began + Math.min(MAX_WAIT_MS, MAX_WAITS_MS - this.#waitedMs);
      while (performance.now() < deadline && this.#isFirstRunning()) await sleep(POLL_MS);
      this.#waitedMs += performance.now() - began;
    });
    return restored;
  }

  #isFirstRunning(): boolean {
    for (const one of this.#all()) if (runsFirst(one)) return true;
    return false;
  }
}

function runsFirst({ journal, sessions }: DurableSession): boolean {
  return journal?.first.hasBegun === true && (!journal.isSettled || sessions.some(({ busy }) => busy));
}
