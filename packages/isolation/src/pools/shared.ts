import type { Isolate } from "../isolate.js";
import type { IsolateSpawner } from "../isolate-spawner.js";
import type { IsolatePool } from "../pool.js";

interface Waiting {
  resolve(isolate: Isolate): void;
  reject(error: unknown): void;
}

/** A fixed number of isolates that all sessions share. A new session goes to the isolate with the fewest sessions. */
export class SharedPool implements IsolatePool {
  readonly shared = true;
  readonly #spawner: IsolateSpawner;
  readonly #size: number;
  readonly #ready = new Set<Isolate>();
  readonly #waiting: Waiting[] = [];
  #preparing = 0;

  constructor(spawner: IsolateSpawner, size: number) {
    this.#spawner = spawner;
    this.#size = size;
  }

  acquire(): Promise<Isolate> {
    const isolate = this.#place();
    if (isolate !== undefined) return Promise.resolve(isolate);
    if (this.#spawner.closed) return Promise.reject(new Error("the server is shutting down"));
    return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }));
  }

  /** Starts all isolates; resolves when they are ready. */
  async prepare(): Promise<void> {
    await Promise.all(Array.from({ length: this.#size }, () => this.#startOne()));
  }

  async release(isolate: Isolate): Promise<void> {
    isolate.assigned--;
  }

  async close(): Promise<void> {
    await this.#spawner.close();
    this.#refuse(new Error("the server is shutting down"));
  }

  #place(): Isolate | undefined {
    let found: Isolate | undefined;
    for (const isolate of this.#ready)
      if (!isolate.suspect && isolate.assigned < (found?.assigned ?? Infinity)) found = isolate;
    if (found !== undefined) found.assigned++;
    return found;
  }

  #refill(): void {
    while (!this.#spawner.closed && this.#ready.size + this.#preparing < this.#size) {
      this.#startOne().catch((error: unknown) => {
        if (this.#ready.size === 0) this.#refuse(error);
        this.#spawner.afterDelay(() => this.#refill());
      });
    }
  }

  async #startOne(): Promise<void> {
    this.#preparing++;
    try {
      const isolate = await this.#spawner.spawn((lost) => this.#replace(lost));
      if (isolate.lost !== undefined) throw isolate.lost;
      isolate.onCleared = () => this.#serveWaiting();
      this.#ready.add(isolate);
    } finally {
      this.#preparing--;
    }
    this.#serveWaiting();
  }

  #replace(isolate: Isolate): void {
    if (this.#ready.delete(isolate)) this.#spawner.afterDelay(() => this.#refill());
  }

  #serveWaiting(): void {
    while (this.#waiting.length > 0) {
      const isolate = this.#place();
      if (isolate === undefined) return;
      this.#waiting.shift()?.resolve(isolate);
    }
  }

  #refuse(error: unknown): void {
    for (const waiting of this.#waiting.splice(0)) waiting.reject(error);
  }
}
