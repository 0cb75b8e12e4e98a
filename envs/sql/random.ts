/** Random numbers for rows and tasks: the same for the same seed in every release. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** At least `low`, at most `high`. */
  int(low: number, high: number): number {
    return low + Math.floor(this.#next() * (high - low + 1));
  }

  pick<T>(items: readonly T[]): T {
    return items[this.int(0, items.length - 1)] as T;
  }

  /** @param likelihood of the value, from 0 to 1 */
  maybe<T>(likelihood: number, value: T): T | null {
    return this.#next() < likelihood ? value : null;
  }

  /** A day of 2024 between two months, as `2024-03-09`. */
  day(firstMonth: number, lastMonth: number): string {
    const [month, day] = [this.int(firstMonth, lastMonth), this.int(1, 28)];
    return `2024-${String(month).padStart(2, "0")}-${String(day).padStart(2, "0")}`;
  }

  /** Mulberry32. */
  #next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  }
}
