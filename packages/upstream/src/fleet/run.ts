import type { Place, Upstream } from "./types.js";

/** A started process, or a URL that has answered. */
export interface Running {
  readonly url: string;
  /** Resolves when it has ended by itself: `ended with signal 9`. */
  readonly ended?: Promise<string>;
  /** The leader of its process group. */
  readonly pid?: number;
  /** The last lines of its output. */
  logs(): Promise<string>;
  close(): Promise<void>;
}

/** Why an upstream takes no more sessions. */
export interface Departure {
  reason: string;
  /** The next run starts after a delay. */
  needsDelay: boolean;
  /** It has ended by itself, or hangs. */
  isLost: boolean;
}

interface RunOptions {
  name: string;
  running: Running;
  /** Called when it has a session less. */
  changed(): void;
  /** Called once, when it has ended. */
  ended(departure: Departure): void;
}

/** One run of an upstream: from its first answer until it has ended. */
export class Run {
  /** Resolves when it takes no more sessions; those that it has may continue. */
  readonly left: Promise<Departure>;
  /** Resolves when it has ended and everything that it started is gone. */
  readonly closed: Promise<void>;
  episodes = 0;
  memoryBytes = 0;
  /** Pings in a row without an answer. */
  missed = 0;
  readonly #options: RunOptions;
  readonly #places = new Set<(reason: string) => void>();
  #leave!: (departure: Departure) => void;
  #close!: () => void;
  #departure: Departure | undefined;
  #isEnded = false;

  constructor(options: RunOptions) {
    const { running } = options;
    this.#options = options;
    this.left = new Promise((resolve) => (this.#leave = resolve));
    this.closed = new Promise<void>((resolve) => (this.#close = resolve)).then(() => running.close());
    void running.ended?.then((reason) => this.end({ reason, isLost: true, needsDelay: true }));
  }

  get url(): string {
    return this.#options.running.url;
  }

  get pid(): number | undefined {
    return this.#options.running.pid;
  }

  get sessions(): number {
    return this.#places.size;
  }

  logs(): Promise<string> {
    return this.#options.running.logs();
  }

  take(countEpisode: () => void): Place {
    const { name, changed } = this.#options;
    let notify!: (reason: string) => void;
    const ended = new Promise<string>((resolve) => (notify = resolve));
    this.#places.add(notify);
    return {
      upstream: { name, url: this.url } satisfies Upstream,
      ended,
      countEpisode: () => {
        this.episodes++;
        countEpisode();
      },
      [Symbol.dispose]: () => {
        if (!this.#places.delete(notify)) return;
        this.#endWhenEmpty();
        changed();
      },
    };
  }

  /** Takes no more sessions, and ends with the last of those that it has. */
  leave(departure: Departure): void {
    this.#departure ??= departure;
    this.#leave(departure);
    this.#endWhenEmpty();
  }

  /** Ends at once, and its sessions with it. */
  end(departure: Departure): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#leave(departure);
    for (const notify of this.#places) notify(`${this.#options.name} ${departure.reason}`);
    this.#places.clear();
    this.#close();
    this.#options.ended(departure);
  }

  #endWhenEmpty(): void {
    if (this.#departure && this.#places.size === 0) this.end(this.#departure);
  }
}
