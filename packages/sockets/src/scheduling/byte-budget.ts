/** A number of bytes shared by many holders: together they stay below it. */
export class ByteBudget {
  protected readonly limit: number;
  #used = 0;

  constructor(limit: number) {
    this.limit = limit;
  }

  /** The bytes in use. */
  get used(): number {
    return this.#used;
  }

  /** Takes the bytes. Returns false, and takes nothing, when fewer are left. */
  take(bytes: number): boolean {
    if (this.#used + bytes > this.limit) return false;
    this.#used += bytes;
    return true;
  }

  give(bytes: number): void {
    this.#used -= bytes;
  }

  /** Takes bytes that are already in memory, even beyond the limit. */
  hold(bytes: number): void {
    this.give(-bytes);
  }

  get isFull(): boolean {
    return this.used >= this.limit;
  }
}
