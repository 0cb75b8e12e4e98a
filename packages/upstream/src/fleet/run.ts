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

/** Why a run takes no more sessions. */
export interface Departure {
  reason: string;
  /** It has ended by itself, or hangs. */
  isLost: boolean;
  /** The next run starts after a delay. */
  needsDelay: boolean;
}

/** One run of an upstream: from its first answer until it has ended. */
export class Run {
  readonly running: Running;
  /** Resolves when it takes no more sessions; those that it has may continue. */
  readonly left: Promise<Departure>;
  episodes = 0;
  memoryBytes = 0;
  /** Pings in a row without an answer. */
  missed = 0;
  /** For each session, what notifies it of the end. */
  readonly #sessions = new Set<(reason: string) => void>();
  readonly #ended: (departure: Departure) => void;
  #leave!: (departure: Departure) => void;
  #departure: Departure | undefined;
  #isEnded = false;

  /** `ended` is called once, when it has ended. */
  constructor(running: Running, ended: (departure: Departure) => void) {
    this.running = running;
    this.#ended = ended;
    this.left = new Promise((resolve) => (this.#leave = resolve));
    void running.ended?.then((reason) => this.lose(reason));
  }

  get sessions(): number {
    return this.#sessions.size;
  }

  add(session: (reason: string) => void): void {
    this.#sessions.add(session);
  }

  remove(session: (reason: string) => void): void {
    this.#sessions.delete(session);
    this.#endWhenEmpty();
  }

  /** Takes no more sessions, and ends with the last of those that it has. */
  leave(reason: string, { needsDelay = false } = {}): void {
    this.#departure ??= { reason, needsDelay, isLost: false };
    this.#leave(this.#departure);
    this.#endWhenEmpty();
  }

  lose(reason: string): void {
    this.#end({ reason, needsDelay: true, isLost: true });
  }

  /** Ends at once, and its sessions with it. */
  end(reason: string): void {
    this.#end({ reason, needsDelay: false, isLost: false });
  }

  #endWhenEmpty(): void {
    if (this.#departure && this.sessions === 0) this.#end(this.#departure);
  }

  #end(departure: Departure): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#leave(departure);
    for (const notify of this.#sessions) notify(departure.reason);
    this.#sessions.clear();
    this.#ended(departure);
  }
}
