import { CLOSE_CODES } from "../../protocol/messages.js";
import type { ByteBudget } from "../byte-budget.js";

const SWEEP_MS = 250;
/** With more connections than this, not all of them are looked at in each sweep period. */
const MAX_SWEPT = 2_000;
/** A message that makes no progress for so long is dropped when its memory is needed. */
const STALLED_MS = 5_000;
/** Less than this is never held back: what one read of a socket brings. */
const ONE_READ = 64 * 1024;

/** A connection as its receiving side is watched. */
export interface Receiver {
  readonly bytesRead: number;
  readonly delivered: number;
  readonly unfinishedBytes: number;
  readonly isRead: boolean;
  limitUnfinished(bytes: number): void;
  suspend(suspended: boolean): void;
  drop(code: number, reason: string): void;
}

interface Peers {
  readonly size: number;
  peers(): { connection: Receiver }[];
}

interface Unfinished {
  bytes: number;
  /** What the receiver said at the last look. */
  bytesRead: number;
  delivered: number;
  /** When more of it came last. */
  progressAt: number;
  dropped: boolean;
}

/**
 * Charges the backlog for messages that are not complete yet. When it is full, only the largest message that makes
 * progress is still read, and those that make none for five seconds are dropped, the largest first, until it is not.
 */
export class UnfinishedFrames {
  readonly #backlog: ByteBudget;
  readonly #peers: Peers;
  readonly #timer: NodeJS.Timeout;
  #unfinished = new Map<Receiver, Unfinished>();
  #charged = 0;
  #skip = 0;

  constructor(backlog: ByteBudget, peers: Peers) {
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
    this.#skip = Math.floor(this.#peers.size / MAX_SWEPT);
    this.#sweep(performance.now());
    if (this.#backlog.isFull) this.#relieve(performance.now());
    else for (const receiver of this.#unfinished.keys()) receiver.suspend(false);
  }

  #sweep(now: number): void {
    const before = this.#unfinished;
    const found = new Map<Receiver, Unfinished>();
    let total = 0;
    for (const { connection } of this.#peers.peers()) {
      if (connection.unfinishedBytes <= 0) {
        if (before.has(connection)) connection.suspend(false);
        continue;
      }
      const unfinished = look(connection, before.get(connection), now);
      found.set(connection, unfinished);
      total += unfinished.bytes;
    }
    this.#unfinished = found;
    this.#backlog.hold(total - this.#charged);
    this.#charged = total;
  }

  #relieve(now: number): void {
    const largestFirst = [...this.#unfinished].sort(([, a], [, b]) => b.bytes - a.bytes);
    let kept = false;
    let excess = this.#backlog.excess;
    for (const [receiver, unfinished] of largestFirst) {
      const { bytes, progressAt, dropped } = unfinished;
      const isStalled = dropped || now - progressAt >= STALLED_MS;
      if (isStalled && excess >= 0) {
        excess -= bytes;
        unfinished.dropped = true;
        receiver.drop(
          CLOSE_CODES.overloaded,
          "an unfinished message was dropped because memory is short: try again later",
        );
      } else if (bytes <= ONE_READ) receiver.suspend(false);
      else {
        receiver.suspend(kept || isStalled);
        kept ||= !isStalled;
      }
    }
  }
}

function look(receiver: Receiver, before: Unfinished | undefined, now: number): Unfinished {
  const { bytesRead, delivered } = receiver;
  if (before === undefined) {
    return { bytes: receiver.unfinishedBytes, bytesRead, delivered, progressAt: now, dropped: false };
  }
  // Messages came out since the last look, so that what is held was read since then, or in the read before it.
  if (delivered !== before.delivered) receiver.limitUnfinished(bytesRead - before.bytesRead + 2 * ONE_READ);
  const progressed = bytesRead !== before.bytesRead || !receiver.isRead;
  return {
    bytes: receiver.unfinishedBytes,
    bytesRead,
    delivered: receiver.delivered,
    progressAt: progressed ? now : before.progressAt,
    dropped: before.dropped,
  };
}
