import { RESUME_DEFAULTS } from "../../session/resume/durable-sessions.js";
import { ByteBudget } from "../../util/byte-budget.js";

const MB = 1024 * 1024;
/** The bytes that all connections of a process may have waiting; beyond that each is limited to a small share. */
export const BACKLOG_BYTES = 256 * MB;
/** The bytes that all HTTP bodies in progress may hold; at least one message. */
export const BODIES_BYTES = 256 * MB;
/** The fractions of the limit at which closing connections starts and stops. */
const HARD_STOP = 1.25;
const RELIEVED = 1.2;
/**
 * The process itself (about 100 MB), the current message with its parsed values (200 MB), data that arrives between two
 * checks of the connections, garbage that is not collected yet, and freed memory that the allocator keeps.
 */
const PROCESS_BYTES = 576 * MB;
/** The memory that peers can make a process use with default settings, without sessions and environments. */
export const MEMORY_CEILING_BYTES = HARD_STOP * BACKLOG_BYTES + BODIES_BYTES + RESUME_DEFAULTS.bytes + PROCESS_BYTES;

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
