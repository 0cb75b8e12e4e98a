interface Place<A, T> {
  applicant: A;
  /** Gives it what it waits for; throws or rejects when that cannot be made. */
  admit: () => T | Promise<T>;
  resolve(value: T | Promise<T>): void;
  reject(error: unknown): void;
  timer: NodeJS.Timeout;
}

/** Those that wait for their turn: first come, first served. A place is freed by a turn, by leaving, or by time. */
export class WaitingLine<A extends object, T> {
  readonly #limit: number;
  readonly #timeoutMs: number;
  readonly #places = new Map<A, Place<A, T>>();

  constructor(limit: number, timeoutMs: number) {
    this.#limit = limit;
    this.#timeoutMs = timeoutMs;
  }

  get size(): number {
    return this.#places.size;
  }

  /** @throws refusal at once when the line is full; rejects with it when the time is up. */
  join(applicant: A, admit: () => T | Promise<T>, refusal: Error): Promise<T> {
    if (this.#places.size >= this.#limit) throw refusal;
    return new Promise<T>((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#places.delete(applicant);
        reject(refusal);
      }, this.#timeoutMs);
      this.#places.set(applicant, { applicant, admit, resolve, reject, timer });
    });
  }

  leave(applicant: A): void {
    clearTimeout(this.#places.get(applicant)?.timer);
    this.#places.delete(applicant);
  }

  /** The first in the line has its turn. */
  next(): void {
    const [first] = this.#places.values();
    if (first === undefined) return;
    this.leave(first.applicant);
    try {
      first.resolve(first.admit());
    } catch (error) {
      first.reject(error);
    }
  }

  clear(refusal: Error): void {
    for (const { applicant, reject } of [...this.#places.values()]) {
      this.leave(applicant);
      reject(refusal);
    }
  }
}
