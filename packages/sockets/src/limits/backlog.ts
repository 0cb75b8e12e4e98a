import { ByteBudget } from "../scheduling/byte-budget.js";

/** The fractions of the limit at which closing connections starts and stops. */
export const HARD_STOP = 1.25;
const RELIEVED = 1.2;

/** A connection that holds bytes of the budget. */
export interface Holder {
  /** The bytes that it holds. */
  readonly heldBytes: number;
  /** Closes it and returns its bytes. */
  shed(reason: string): void;
}

/** A budget of bytes that are already in memory: holders check {@link isFull}, and the hard stop closes the largest. */
export class Backlog extends ByteBudget {
  readonly #holders = new Set<Holder>();
  /** The bytes of closed connections that stay in memory: they leave less room, but closing more would not free them. */
  #kept = 0;

  /** Adds a holder, until it {@link leave}s. */
  join(holder: Holder): void {
    this.#holders.add(holder);
  }

  leave(holder: Holder): void {
    this.#holders.delete(holder);
  }

  override get isFull(): boolean {
    return this.used + this.#kept >= this.limit;
  }

  /**
   * Counts the unread answers of a socket that is shed, where the runtime cannot free them. Returns their bytes, for
   * {@link forget} once the socket has closed.
   */
  keep({ freesUnread, untaken }: { freesUnread: boolean; untaken: number }): number {
    const bytes = freesUnread ? 0 : untaken;
    this.#kept += bytes;
    return bytes;
  }

  forget(bytes: number): void {
    this.#kept -= bytes;
  }

  /** At the hard stop, closes holders, largest first, until there is room again; small holders stay open. */
  relieve(): void {
    if (this.used < this.limit * HARD_STOP) return;
    const sizes = [...this.#holders].map((holder) => ({ holder, bytes: holder.heldBytes }));
    for (const { holder } of sizes.sort((a, b) => b.bytes - a.bytes)) {
      if (this.used < this.limit * RELIEVED) return;
      holder.shed("the server is low on memory, and this connection held the most: try again later");
    }
  }
}
