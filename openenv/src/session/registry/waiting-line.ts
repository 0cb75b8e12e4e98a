/** Whoever waits, known by its identity; it may leave before its turn comes. */
export type Applicant = object & {
  /** Is told its place in the line whenever that changes: 1 for the next, 0 when its turn has come. */
  queued?: ((place: number) => void) | undefined;
};

interface Place<T> {
  applicant: Applicant;
  /** Gives it what it waits for; throws or rejects when that cannot be made. */
  admit: () => T | Promise<T>;
  resolve(value: T | Promise<T>): void;
  reject(error: unknown): void;
  timer: NodeJS.Timeout;
  /** The place that it knows of. */
  told: number;
}

/** Moves are told together: a long line is walked a few times a second at most. */
const TELL_MS = 250;

/** Those that wait for their turn: first come, first served. A place is freed by a turn, by leaving, or by time. */
export class WaitingLine<T> {
  readonly #limit: number;
  readonly #timeoutMs: number;
  readonly #places = new Map<Applicant, Place<T>>();
  #telling: NodeJS.Timeout | undefined;
  /** Those in the line that want to know their place. */
  #curious = 0;

  constructor(limit: number, timeoutMs: number) {
    this.#limit = limit;
    this.#timeoutMs = timeoutMs;
  }

  get size(): number {
    return this.#places.size;
  }

  get isFull(): boolean {
    return this.#places.size >= this.#limit;
  }

  /** For a line that is not full. Rejects with `refusal` when the time is up. */
  join(applicant: Applicant, admit: () => T | Promise<T>, refusal: Error): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const timer = setTimeout(() => {
        this.leave(applicant);
        reject(refusal);
      }, this.#timeoutMs);
      const told = this.#places.size + 1;
      this.#places.set(applicant, { applicant, admit, resolve, reject, timer, told });
      if (applicant.queued === undefined) return;
      this.#curious++;
      applicant.queued(told);
    });
  }

  leave(applicant: Applicant): void {
    const place = this.#places.get(applicant);
    if (place === undefined) return;
    clearTimeout(place.timer);
    this.#places.delete(applicant);
    if (applicant.queued !== undefined) this.#curious--;
    if (this.#curious > 0) this.#telling ??= setTimeout(() => this.#tell(), TELL_MS).unref();
  }

  /** The first in the line has its turn. */
  next(): void {
    const [first] = this.#places.values();
    if (first === undefined) return;
    this.leave(first.applicant);
    first.applicant.queued?.(0);
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

  #tell(): void {
    this.#telling = undefined;
    let number = 0;
    for (const place of this.#places.values()) {
      number++;
      if (place.told === number) continue;
      place.told = number;
      place.applicant.queued?.(number);
    }
  }
}
