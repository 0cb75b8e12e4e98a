import { CLOSE_CODES } from "../../protocol/messages.js";
import type { ByteBudget } from "../byte-budget.js";

const SWEEP_MS = 50;
/** While less than this is unfinished, only every fifth time is used. */
const MUCH = 16 * 1024 * 1024;
const SKIPPED = 4;
/** Each time is used only with fewer connections than this, every second with fewer than twice as many, and so on. */
const MAX_SWEPT = 2_000;
/** A message that makes no progress for so long is dropped when its memory is needed. */
const STALLED_MS = 5_000;
/** Less than this is never held back: what one read of a socket brings. */
const ONE_READ = 64 * 1024;

/** What one read of a socket costs besides its content while it is kept (measured with Node 20 on x64). */
const PIECE_BYTES = 400;

/** A connection as its receiving side is watched. */
export interface Receiver {
  readonly bytesRead: number;
  readonly delivered: number;
  readonly unfinishedBytes: number;
  readonly isRead: boolean;
  limitUnfinished(bytes: number): void;
  /** Reads since this was last asked, counted while it is asked again and again. */
  takePieces(): number;
  stopPieces(): void;
  suspend(suspended: boolean): void;
  drop(code: number, reason: string): void;
}

interface Peers {
  readonly size: number;
  peers(): { connection: Receiver }[];
}

interface Unfinished {
  /** What it is charged. */
  bytes: number;
  /** Reads that are kept. */
  pieces: number;
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
    this.#sweep(performance.now());
    this.#skip = Math.floor(this.#peers.size / MAX_SWEPT) + (this.#charged < MUCH ? SKIPPED : 0);
    if (this.#backlog.isFull) this.#relieve(performance.now());
    else for (const receiver of this.#unfinished.keys()) receiver.suspend(false);
  }

  #sweep(now: number): void {
    const before = this.#unfinished;
    const found = new Map<Receiver, Unfinished>();
    let total = 0;
    for (const { connection } of this.#peers.peers()) {
      if (connection.unfinishedBytes <= 0) {
        if (before.has(connection)) finish(connection);
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

function finish(receiver: Receiver): void {
  receiver.stopPieces();
  receiver.suspend(false);
}

function look(receiver: Receiver, before: Unfinished | undefined, now: number): Unfinished {
  const { bytesRead, delivered } = receiver;
  const isAnother = delivered !== before?.delivered;
  // Frames came out since the last look, so what is held was read since then, or in the reads just before it.
  if (before !== undefined && isAnother) receiver.limitUnfinished(bytesRead - before.bytesRead + 2 * ONE_READ);
  const pieces = receiver.takePieces() + (isAnother ? 0 : before.pieces);
  const hasProgress = bytesRead !== before?.bytesRead || !receiver.isRead;
  return {
    bytes: receiver.unfinishedBytes + pieces * PIECE_BYTES,
    pieces,
    bytesRead,
    delivered: receiver.delivered,
    progressAt: hasProgress ? now : before.progressAt,
    dropped: before?.dropped === true,
  };
}
