/** Removed entries are cut from the array once there are this many and they are the majority. */
const COMPACT_AT = 1024;

/** First in, first out; taking the next entry takes constant time. */
export class Fifo<T> {
  #items: (T | undefined)[] = [];
  #head = 0;

  get size(): number {
    return this.#items.length - this.#head;
  }

  push(item: T): void {
    this.#items.push(item);
  }

  shift(): T | undefined {
    if (this.#head === this.#items.length) return undefined;
    const item = this.#items[this.#head];
    this.#items[this.#head++] = undefined;
    if (this.#head === this.#items.length) this.clear();
    else if (this.#head >= COMPACT_AT && this.#head * 2 >= this.#items.length) {
      this.#items = this.#items.slice(this.#head);
      this.#head = 0;
    }
    return item;
  }

  clear(): void {
    // A small array is kept: a connection that pipelines a few messages fills it again at once.
    if (this.#items.length > COMPACT_AT) this.#items = [];
    else this.#items.length = 0;
    this.#head = 0;
  }
}
