/** What a server has started. It is ended in reverse order. */
export class EndStack {
  readonly #ends: (() => unknown)[] = [];

  /** `end` is called once, when the server stops or its start fails. */
  add(end: () => unknown): void {
    this.#ends.push(end);
  }

  async run(): Promise<void> {
    for (const end of this.#ends.splice(0).reverse()) await end();
  }
}
