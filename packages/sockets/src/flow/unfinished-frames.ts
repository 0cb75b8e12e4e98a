import type { Backlog } from "../limits/backlog.js";

const SWEEP_MS = 50;
/** While fewer bytes than this are unfinished, only every fifth sweep runs. */
const MUCH = 16 * 1024 * 1024;
const SKIPPED = 4;
/** With fewer connections every sweep runs, with fewer than twice as many every second one, and so on. */
const MAX_SWEPT = 2_000;
/** A message without progress for this long is dropped when its memory is needed. */
const STALLED_MS = 5_000;
/** The bytes of one read of a socket: an unfinished message below this size is never paused. */
const ONE_READ = 64 * 1024;

/** The receiving side of a connection. */
export interface Receiver {
  readonly bytesRead: number | undefined;
  readonly unfinishedBytes: number;
  readonly isRead: boolean;
  mayGrow: boolean;
  chargeHeld(): void;
  suspend(suspended: boolean): void;
  shed(reason: string): void;
}

interface Peers {
  readonly size: number;
  peers(): Receiver[];
}

interface Unfinished {
  bytes: number;
  /** The bytes that were read at the last sweep. */
  bytesRead: number | undefined;
  /** When data last arrived. */
  progressAt: number;
}

/**
 * Charges the backlog at each sweep for unfinished messages. While the backlog is full, only the largest message that
 * makes progress is read, and messages without progress for five seconds are dropped, largest first.
 */
export class UnfinishedFrames {
  readonly #backlog: Backlog;
  readonly #peers: Peers;
  readonly #timer: NodeJS.Timeout;
  #unfinished = new Map<Receiver, Unfinished>();
  #total = 0;
  #skip = 0;

  constructor(backlog: Backlog, peers: Peers) {
    this.#backlog = backlog;
    this.#peers = peers;
    this.#timer = setInterval(() => this.#tick(), SWEEP_MS);
    this.#timer.unref();
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #tick(): void {
    if (this.#skip-- > 0) return;
    this.#sweep(performance.now());
    this.#skip = Math.floor(this.#peers.size / MAX_SWEPT) + (this.#total < MUCH ? SKIPPED : 0);
    if (this.#backlog.isFull) this.#relieve(performance.now());
    else for (const receiver of this.#unfinished.keys()) receiver.suspend(false);
  }

  #sweep(now: number): void {
    const before = this.#unfinished;
    const found = new Map<Receiver, Unfinished>();
    this.#total = 0;
    for (const connection of this.#peers.peers()) {
      connection.chargeHeld();
      const bytes = connection.unfinishedBytes;
      if (bytes > 0) {
        found.set(connection, look(connection, before.get(connection), now));
        this.#total += bytes;
      } else if (before.has(connection)) connection.suspend(false);
    }
    this.#unfinished = found;
  }

  #relieve(now: number): void {
    const largestFirst = [...this.#unfinished].sort(([, a], [, b]) => b.bytes - a.bytes);
    let kept = false;
    for (const [receiver, { bytes, progressAt }] of largestFirst) {
      const isStalled = now - progressAt >= STALLED_MS;
      receiver.mayGrow = !kept && !isStalled && bytes > ONE_READ;
      if (isStalled && this.#backlog.isFull) {
        receiver.shed("the server is low on memory and dropped an unfinished message: try again later");
      } else if (bytes <= ONE_READ) receiver.suspend(false);
      else {
        receiver.suspend(!receiver.mayGrow);
        kept ||= receiver.mayGrow;
      }
    }
  }
}

function look(receiver: Receiver, before: Unfinished | undefined, now: number): Unfinished {
  const { bytesRead, unfinishedBytes } = receiver;
  const hasProgress = before === undefined || bytesRead !== before.bytesRead || !receiver.isRead;
  return { bytes: unfinishedBytes, bytesRead, progressAt: hasProgress ? now : before.progressAt };
}
