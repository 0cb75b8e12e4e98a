/** Results in the order in which they arrive, keyed by the index of their session. */
export class Completions<R> {
  readonly #pending = new Set<number>();
  readonly #arrived: { index: number; take(): R }[] = [];
  #wake: (() => void)[] = [];

  /** True when the result of this session is still pending. */
  has(index: number): boolean {
    return this.#pending.has(index);
  }

  add(index: number, result: Promise<R>): void {
    const arrive = (take: () => R): void => {
      this.#arrived.push({ index, take });
      for (const wake of this.#wake.splice(0)) wake();
    };
    this.#pending.add(index);
    result.then(
      (value) => arrive(() => value),
      (error: unknown) =>
        arrive(() => {
          throw error;
        }),
    );
  }

  /** Yields `count` results, by default all that are pending. */
  async *take(count = this.#pending.size): AsyncGenerator<R> {
    for (let left = count; left > 0; left--) {
      while (this.#arrived.length === 0 && this.#pending.size > 0) {
        await new Promise<void>((wake) => this.#wake.push(wake));
      }
      const next = this.#arrived.shift();
      if (!next) return;
      this.#pending.delete(next.index);
      yield next.take();
    }
  }
}
