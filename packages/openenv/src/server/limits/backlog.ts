const MB = 1024 * 1024;
/** What all connections of a process may have waiting before each gets little. */
export const BACKLOG_BYTES = 256 * MB;
/** What the HTTP bodies that are being read or handled may hold; at least one message. */
export const BODIES_BYTES = 256 * MB;
/** The part of the limit at which connections are closed, and the part down to which they are. */
const HARD_STOP = 1.25;
const RELIEVED = 1.2;
/**
 * The process itself (about 100 MB), the message that is being handled with its values (200 MB), what arrives between two
 * looks at the connections, and memory that is free but not collected yet.
 */
const PROCESS_BYTES = 448 * MB;
/** The most memory that peers can make a process use with default settings, without its sessions and environments. */
export const MEMORY_CEILING_BYTES = HARD_STOP * BACKLOG_BYTES + BODIES_BYTES + PROCESS_BYTES;

/** A number of bytes that many takers share: what all of them hold together stays below it. */
export class ByteBudget {
  protected readonly limit: number;
  #used = 0;

  constructor(limit: number) {
    this.limit = limit;
  }

  /** Bytes that are held. */
  get used(): number {
    return this.#used;
  }

  /** False, and nothing taken, when so many are not left. */
  take(bytes: number): boolean {
    if (this.#used + bytes > this.limit) return false;
    this.#used += bytes;
    return true;
  }

  give(bytes: number): void {
    this.#used -= bytes;
  }
}

/** A connection that is charged. */
export interface Holder {
  /** Bytes that it is charged. */
  readonly heldBytes: number;
  /** Closes it, and gives back what it is charged. */
  shed(reason: string): void;
}

/** Bytes that are there already when they are counted: holders look at {@link isFull}, and the hard stop closes the largest. */
export class Backlog extends ByteBudget {
  readonly #holders = new Set<Holder>();

  /** Takes what is there already, whether so much is left or not. */
  hold(bytes: number): void {
    this.give(-bytes);
  }

  get isFull(): boolean {
    return this.used >= this.limit;
  }

  /** Whoever is charged takes part until it {@link leave}s. */
  join(holder: Holder): void {
    this.#holders.add(holder);
  }

  leave(holder: Holder): void {
    this.#holders.delete(holder);
  }

  /** At the hard stop closes holders, the largest first, until there is some room again; a holder with little stays. */
  relieve(): void {
    if (this.used < this.limit * HARD_STOP) return;
    const sizes = [...this.#holders].map((holder) => ({ holder, bytes: holder.heldBytes }));
    for (const { holder } of sizes.sort((a, b) => b.bytes - a.bytes)) {
      if (this.used < this.limit * RELIEVED) return;
      holder.shed("memory is short, and this connection held the most: try again later");
    }
  }
}
