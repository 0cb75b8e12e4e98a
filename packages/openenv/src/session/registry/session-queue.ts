/** A waiting peer, identified by the object; it may leave before its turn. */
export type Waiter = object & {
  /** Called with the position in the queue whenever it changes: 1 for the next, 0 when it is its turn. */
  queued?: ((place: number) => void) | undefined;
};

interface QueueEntry<T> {
  waiter: Waiter;
  /** Creates the session for the peer; may throw or reject. */
  admit: () => T | Promise<T>;
  resolve(value: T | Promise<T>): void;
  reject(error: unknown): void;
  timer: NodeJS.Timeout;
  /** The last reported position. */
  lastReported: number;
}

/** Positions are reported in batches, at most a few times per second. */
const REPORT_MS = 250;

/** A FIFO queue of peers. An entry leaves the queue with its turn, by leaving, or by timeout. */
export class SessionQueue<T> {
  readonly #limit: number;
  readonly #timeoutMs: number;
  readonly #entries = new Map<Waiter, QueueEntry<T>>();
  #reporting: NodeJS.Timeout | undefined;
  /** Number of waiting peers with a `queued` callback. */
  #observers = 0;

  constructor(limit: number, timeoutMs: number) {
    this.#limit = limit;
    this.#timeoutMs = timeoutMs;
  }

  get size(): number {
    return this.#entries.size;
  }

  get isFull(): boolean {
    return this.#entries.size >= this.#limit;
  }

  /** Joins the queue, which must not be full. Rejects with `rejection` after the timeout. */
  join(waiter: Waiter, admit: () => T | Promise<T>, rejection: Error): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const timer = setTimeout(() => {
        this.leave(waiter);
        reject(rejection);
      }, this.#timeoutMs);
      const lastReported = this.#entries.size + 1;
      this.#entries.set(waiter, { waiter, admit, resolve, reject, timer, lastReported });
      if (waiter.queued === undefined) return;
      this.#observers++;
      waiter.queued(lastReported);
    });
  }

  leave(waiter: Waiter): void {
    const entry = this.#entries.get(waiter);
    if (entry === undefined) return;
    clearTimeout(entry.timer);
    this.#entries.delete(waiter);
    if (waiter.queued !== undefined) this.#observers--;
    if (this.#observers > 0) this.#reporting ??= setTimeout(() => this.#report(), REPORT_MS).unref();
  }

  /** Admits the first in the queue. */
  next(): void {
    const [first] = this.#entries.values();
    if (first === undefined) return;
    this.leave(first.waiter);
    first.waiter.queued?.(0);
    try {
      first.resolve(first.admit());
    } catch (error) {
      first.reject(error);
    }
  }

  clear(rejection: Error): void {
    for (const { waiter, reject } of [...this.#entries.values()]) {
      this.leave(waiter);
      reject(rejection);
    }
  }

  #report(): void {
    this.#reporting = undefined;
    let number = 0;
    for (const entry of this.#entries.values()) {
      number++;
      if (entry.lastReported === number) continue;
      entry.lastReported = number;
      entry.waiter.queued?.(number);
    }
  }
}
