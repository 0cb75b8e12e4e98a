import type { ByteBudget } from "../byte-budget.js";

/** Bytes of one connection beyond which it should not be read. */
const LIMIT = 1024 * 1024;

export interface QueuedFrame {
  data: Buffer;
  isBinary: boolean;
}

/** Frames of one connection that wait for their turn; what all connections have waiting is in the budget. */
export class FrameQueue {
  readonly #backlog: ByteBudget;
  readonly #frames: QueuedFrame[] = [];
  #bytes = 0;

  constructor(backlog: ByteBudget) {
    this.#backlog = backlog;
  }

  get isEmpty(): boolean {
    return this.#frames.length === 0;
  }

  /** Too much waits, here or on all connections. */
  get isFull(): boolean {
    return this.#bytes >= LIMIT || this.#backlog.isFull;
  }

  push(frame: QueuedFrame): void {
    this.#frames.push(frame);
    this.#bytes += frame.data.byteLength;
    this.#backlog.hold(frame.data.byteLength);
  }

  shift(): QueuedFrame | undefined {
    const frame = this.#frames.shift();
    if (frame === undefined) return undefined;
    this.#bytes -= frame.data.byteLength;
    this.#backlog.give(frame.data.byteLength);
    return frame;
  }

  clear(): void {
    this.#frames.length = 0;
    this.#backlog.give(this.#bytes);
    this.#bytes = 0;
  }
}
