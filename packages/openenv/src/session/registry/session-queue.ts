/** Whoever waits, known by its identity; it may leave before its turn comes. */
export type Waiter = object & {
  /** Is told its place in the line whenever that changes: 1 for the next, 0 when its turn has come. */
  queued?: ((place: number) => void) | undefined;
};

interface QueueEntry<T> {
  waiter: Waiter;
  /** Gives it what it waits for; throws or rejects when that cannot be made. */
  admit: () => T | Promise<T>;
  resolve(value: T | Promise<T>): void;
  reject(error: unknown): void;
  timer: NodeJS.Timeout;
  /** The place that it knows of. */
  lastReported: number;
}

/** Moves are told together: a long line is walked a few times a second at most. */
const REPORT_MS = 250;

/** Those that wait for their turn: first come, first served. A place is freed by a turn, by leaving, or by time. */
export class SessionQueue<T> {
  readonly #limit: number;
  readonly #timeoutMs: number;
  readonly #entries = new Map<Waiter, QueueEntry<T>>();
  #reporting: NodeJS.Timeout | undefined;
  /** Those in the line that want to know their place. */
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

  /** For a line that is not full. Rejects with `refusal` when the time is up. */
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

  leave(applicant: Waiter): void {
    const place = this.#entries.get(applicant);
    if (place === undefined) return;
    clearTimeout(place.timer);
    this.#entries.delete(applicant);
    if (applicant.queued !== undefined) this.#observers--;
    if (this.#observers > 0) this.#reporting ??= setTimeout(() => this.#report(), REPORT_MS).unref();
  }

  /** The first in the line has its turn. */
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

  clear(refusal: Error): void {
    for (const { waiter, reject } of [...this.#entries.values()]) {
      this.leave(waiter);
      reject(refusal);
    }
  }

  #report(): void {
    this.#reporting = undefined;
    let number = 0;
    for (const place of this.#entries.values()) {
      number++;
      if (place.lastReported === number) continue;
      place.lastReported = number;
      place.waiter.queued?.(number);
    }
  }
}
