/** A number of bytes that many takers share: what all of them hold together stays below it. */
export class ByteBudget {
  protected readonly limit: number;
  #used = 0;

  constructor(limit: number) {
    this.limit = limit;
  }

  /** Bytes that are held. */
  get used(): number {
    return this.#used;
  }

  /** False, and nothing taken, when so many are not left. */
  take(bytes: number): boolean {
    if (this.#used + bytes > this.limit) return false;
    this.#used += bytes;
    return true;
  }

  give(bytes: number): void {
    this.#used -= bytes;
  }
}
