/** The part of the limit up to which {@link ByteBudget.hold} may exceed it; beyond that, holders refuse new data. */
const EXHAUSTED = 1.25;

/** A number of bytes that many takers share: what all of them hold together stays below it. */
export class ByteBudget {
  readonly #limit: number;
  #used = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Bytes that are held. */
  get used(): number {
    return this.#used;
  }

  /** False, and nothing taken, when so many are not left. */
  take(bytes: number): boolean {
    if (this.#used + bytes > this.#limit) return false;
    this.#used += bytes;
    return true;
  }

  /** Takes what is there already, whether so much is left or not; who does looks at {@link isFull}. */
  hold(bytes: number): void {
    this.#used += bytes;
  }

  get isFull(): boolean {
    return this.#used >= this.#limit;
  }

  /** Bytes that are held beyond the limit; negative when it has some left. */
  get excess(): number {
    return this.#used - this.#limit;
  }

  /** So much is held beyond the limit that nothing more may be held. */
  get isExhausted(): boolean {
    return this.#used >= this.#limit * EXHAUSTED;
  }

  give(bytes: number): void {
    this.#used -= bytes;
  }
}
