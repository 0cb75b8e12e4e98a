import type { Host } from "../host.js";
import type { Pool } from "../pool.js";
import type { Starter } from "../starter.js";

interface Waiting {
  resolve(host: Host): void;
  reject(error: unknown): void;
}

/** A fixed number of hosts that all sessions share; each session goes to the one with the fewest. */
export class SharedPool implements Pool {
  readonly shared = true;
  readonly #starter: Starter;
  readonly #size: number;
  readonly #ready = new Set<Host>();
  readonly #waiting: Waiting[] = [];
  #preparing = 0;

  constructor(starter: Starter, size: number) {
    this.#starter = starter;
    this.#size = size;
  }

  acquire(): Promise<Host> {
    const host = this.#place();
    if (host !== undefined) return Promise.resolve(host);
    if (this.#starter.closed) return Promise.reject(new Error("the server is shutting down"));
    return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }));
  }

  /** Resolves when all are ready. */
  async prepare(): Promise<void> {
    await Promise.all(Array.from({ length: this.#size }, () => this.#startOne()));
  }

  async release(host: Host): Promise<void> {
    host.places--;
  }

  async close(): Promise<void> {
    await this.#starter.close();
    this.#refuse(new Error("the server is shutting down"));
  }

  #place(): Host | undefined {
    let found: Host | undefined;
    for (const host of this.#ready) if (!host.suspect && host.places < (found?.places ?? Infinity)) found = host;
    if (found !== undefined) found.places++;
    return found;
  }

  #refill(): void {
    while (!this.#starter.closed && this.#ready.size + this.#preparing < this.#size) {
      this.#startOne().catch((error: unknown) => {
        if (this.#ready.size === 0) this.#refuse(error);
        this.#starter.afterDelay(() => this.#refill());
      });
    }
  }

  async #startOne(): Promise<void> {
    this.#preparing++;
    try {
      const host = await this.#starter.start((lost) => this.#replace(lost));
      if (host.lost !== undefined) throw host.lost;
      host.onCleared = () => this.#serveWaiting();
      this.#ready.add(host);
    } finally {
      this.#preparing--;
    }
    this.#serveWaiting();
  }

  #replace(host: Host): void {
    if (this.#ready.delete(host)) this.#starter.afterDelay(() => this.#refill());
  }

  #serveWaiting(): void {
    while (this.#waiting.length > 0) {
      const host = this.#place();
      if (host === undefined) return;
      this.#waiting.shift()?.resolve(host);
    }
  }

  #refuse(error: unknown): void {
    for (const waiting of this.#waiting.splice(0)) waiting.reject(error);
  }
}
