import type { Host } from "../host.js";
import type { Pool } from "../pool.js";
import type { Starter } from "../starter.js";

/** A host for each session, which ends with it, and spare ones that are ready when a session comes. */
export class ExclusivePool implements Pool {
  readonly shared = false;
  readonly #starter: Starter;
  readonly #spares: number;
  readonly #ready: Host[] = [];
  #preparing = 0;

  constructor(starter: Starter, spares: number) {
    this.#starter = starter;
    this.#spares = spares;
  }

  async acquire(): Promise<Host> {
    const spare = this.#ready.shift();
    const host = spare ?? this.#starter.start(() => {});
    this.#refill();
    return host;
  }

  /** Starts what is missing; resolves when the first one is ready. */
  async prepare(): Promise<void> {
    const host = await this.#starter.start((lost) => this.#forget(lost));
    this.#offer(host);
    this.#refill();
  }

  async release(host: Host): Promise<void> {
    await host.end();
  }

  close(): Promise<void> {
    return this.#starter.close();
  }

  #offer(host: Host): void {
    if (this.#ready.length < this.#spares) this.#ready.push(host);
    else void host.end();
  }

  #refill(): void {
    while (!this.#starter.closed && this.#ready.length + this.#preparing < this.#spares) {
      this.#preparing++;
      this.#starter
        .start((lost) => this.#forget(lost))
        .then(
          (host) => {
            this.#preparing--;
            if (host.lost === undefined) this.#ready.push(host);
          },
          () => {
            this.#preparing--;
            this.#starter.afterDelay(() => this.#refill());
          },
        );
    }
  }

  /** A spare that ends before anyone needed it. */
  #forget(host: Host): void {
    const place = this.#ready.indexOf(host);
    if (place < 0) return;
    this.#ready.splice(place, 1);
    this.#starter.afterDelay(() => this.#refill());
  }
}
