import type { Isolate } from "../isolate.js";
import type { IsolateSpawner } from "../isolate-spawner.js";
import type { IsolatePool } from "../pool.js";

/** One isolate per session, which ends with the session, and spare isolates for new sessions. */
export class ExclusivePool implements IsolatePool {
  readonly shared = false;
  readonly #spawner: IsolateSpawner;
  readonly #spares: number;
  readonly #ready: Isolate[] = [];
  #preparing = 0;

  constructor(spawner: IsolateSpawner, spares: number) {
    this.#spawner = spawner;
    this.#spares = spares;
  }

  async acquire(): Promise<Isolate> {
    const spare = this.#ready.shift();
    const isolate = spare ?? this.#spawner.spawn(() => {});
    this.#refill();
    return isolate;
  }

  /** Starts the spares; resolves when the first one is ready. */
  async prepare(): Promise<void> {
    const isolate = await this.#spawner.spawn((lost) => this.#forget(lost));
    this.#offer(isolate);
    this.#refill();
  }

  async release(isolate: Isolate): Promise<void> {
    await isolate.end();
  }

  close(): Promise<void> {
    return this.#spawner.close();
  }

  #offer(isolate: Isolate): void {
    if (this.#ready.length < this.#spares) this.#ready.push(isolate);
    else void isolate.end();
  }

  #refill(): void {
    while (!this.#spawner.closed && this.#ready.length + this.#preparing < this.#spares) {
      this.#preparing++;
      this.#spawner
        .spawn((lost) => this.#forget(lost))
        .then(
          (isolate) => {
            this.#preparing--;
            if (isolate.lost === undefined) this.#ready.push(isolate);
          },
          () => {
            this.#preparing--;
            this.#spawner.afterDelay(() => this.#refill());
          },
        );
    }
  }

  /** Removes a spare that ended before it was used. */
  #forget(isolate: Isolate): void {
    const place = this.#ready.indexOf(isolate);
    if (place < 0) return;
    this.#ready.splice(place, 1);
    this.#spawner.afterDelay(() => this.#refill());
  }
}
