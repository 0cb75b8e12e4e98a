import { availableParallelism } from "node:os";
import type { Isolate } from "./isolate.js";

/** An isolate that has run this long resets the backoff. */
const STABLE_MS = 10_000;
const FIRST_DELAY_MS = 100;
const LONGEST_DELAY_MS = 5_000;

/** Starts isolates in the order of the requests, at most one per core at a time, and ends them on close. */
export class IsolateSpawner {
  readonly #create: () => Isolate;
  readonly #contract: string;
  readonly #waiting: (() => void)[] = [];
  readonly #isolates = new Set<Isolate>();
  #starting = 0;
  #failures = 0;
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(create: () => Isolate, contract: string) {
    this.#create = create;
    this.#contract = contract;
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** Starts an isolate. `lost` is called when it ends, also while it starts. Rejects when it cannot be used. */
  async spawn(lost: (isolate: Isolate) => void): Promise<Isolate> {
    if (this.#starting < availableParallelism()) this.#starting++;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      if (this.#closed) throw new Error("the server is shutting down");
      return await this.#spawnNow(lost);
    } finally {
      // The next waiting start takes over the slot.
      const next = this.#waiting.shift();
      if (next === undefined) this.#starting--;
      else next();
    }
  }

  /** Runs `work` after a delay that grows with the number of consecutive failures. */
  afterDelay(work: () => void): void {
    if (this.#closed || this.#timer !== undefined) return;
    const delay = Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** Math.max(0, this.#failures - 1));
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      work();
    }, delay);
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    await Promise.all([...this.#isolates].map((isolate) => isolate.end()));
  }

  async #spawnNow(lost: (isolate: Isolate) => void): Promise<Isolate> {
    const isolate = this.#create();
    this.#isolates.add(isolate);
    isolate.onLost = () => {
      this.#isolates.delete(isolate);
      this.#failures = performance.now() - isolate.startedAt > STABLE_MS ? 1 : this.#failures + 1;
      lost(isolate);
    };
    const contract = await isolate.ready;
    if (contract === this.#contract) return isolate;
    isolate.kill("has another environment");
    throw new Error(`its module exports the environment "${contract}", but the server serves "${this.#contract}"`);
  }
}
