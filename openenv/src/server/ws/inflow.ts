import type { Socket } from "node:net";
import type { WebSocket } from "ws";
import { CLOSE_CODES } from "../../protocol/messages.js";
import { readArrival } from "../loop-clock.js";
import { FrameQueue } from "./frame-queue.js";
import { type ConnectionLimits, Outflow } from "./outflow.js";
import type { Runnable } from "./run-queue.js";

/** The clock is read once for this many pipelined frames, or for one of at least this size. */
const FRAMES_PER_LOOK = 8;
const LARGE_FRAME = 8 * 1024;

export interface InflowParts {
  ws: WebSocket;
  socket: Socket;
  /** Bytes that came together with the upgrade request and belong to the WebSocket. */
  headBytes: number;
  limits: ConnectionLimits;
}

/** When the frames of a socket are read and handled, and how much of it `ws` and the socket hold meanwhile. */
export abstract class Inflow extends Outflow implements Runnable {
  scheduled = false;
  /** When the frame that is handled arrived, by the clock of `performance.now()`. */
  arrivedAt = 0;
  /** Bytes of the socket that came out of `ws` as frames, modulo 2^32. */
  #delivered: number;
  #heardBytes = -1;
  #queue: FrameQueue | undefined;
  #work = 0;
  #paused = false;
  #suspended = false;
  #pieces: { count: number; add: () => void } | undefined;

  constructor({ ws, socket, headBytes, limits }: InflowParts) {
    super(ws, socket, limits);
    this.#delivered = (socket.bytesRead - headBytes) | 0;
  }

  /** Answers one frame by {@link send}; leaves {@link blocked} set when the answer comes later. */
  protected abstract handle(data: Buffer | string, isBinary: boolean): void;
  /** Everything that came in has been answered. */
  protected abstract idle(): void;

  receive(data: Buffer, isBinary: boolean): void {
    this.#count(data.byteLength);
    if (this.blocked || this.scheduled) this.#enqueue(data, isBinary);
    else if (this.ended) return;
    else if (this.#isTurnSpent(data.byteLength)) {
      this.#enqueue(data, isBinary);
      this.limits.runQueue.add(this);
    } else {
      this.arrivedAt = readArrival();
      this.handle(data, isBinary);
    }
  }

  pinged(payload: Buffer): void {
    this.pong(payload);
    this.ponged(payload);
  }

  /** Control frames cannot wait for their turn: what is paused is reading. */
  ponged(payload: Buffer): void {
    this.#count(payload.byteLength);
    if (this.ended || this.#paused || !this.#isTurnSpent(payload.byteLength)) return;
    this.pause();
    this.limits.runQueue.add(this);
  }

  runSlice(): boolean {
    for (let work = 0; !this.blocked && !this.ended; ) {
      const next = this.#queue?.shift();
      if (next === undefined) break;
      this.arrivedAt = next.arrivedAt;
      this.handle(next.data, next.isBinary);
      work += this.isHeavy(next.bytes) ? FRAMES_PER_LOOK : 1;
      if (work < FRAMES_PER_LOOK) continue;
      work = 0;
      if (this.limits.runQueue.isSpent()) break;
    }
    this.#resume();
    if (this.blocked || this.ended) return false;
    if (this.#waits) return true;
    this.idle();
    return false;
  }

  /** Anything came since this was last asked: a pong, or a part of a long frame. A peer that is not read is not judged. */
  wasHeard(): boolean {
    const { bytesRead } = this.socket;
    const heard = bytesRead !== this.#heardBytes || this.#paused;
    this.#heardBytes = bytesRead;
    return heard;
  }

  get bytesRead(): number {
    return this.socket.bytesRead;
  }

  /** Changes whenever a frame comes out of `ws`. */
  get delivered(): number {
    return this.#delivered;
  }

  /**
   * Bytes that were read and did not come out as frames: the unfinished message that `ws` keeps, and what a paused socket
   * has buffered. Never too low. Too high by the headers of a fragmented message after its first, which nothing reports,
   * until {@link limitUnfinished}.
   */
  get unfinishedBytes(): number {
    return (this.socket.bytesRead - this.#delivered) | 0;
  }

  /** The reads of the socket since this was last asked; counting begins with the first time, and costs each read a call. */
  takePieces(): number {
    if (this.#pieces === undefined) {
      const pieces = { count: 0, add: () => void pieces.count++ };
      this.#pieces = pieces;
      this.socket.on("data", pieces.add);
    }
    const { count } = this.#pieces;
    this.#pieces.count = 0;
    return count;
  }

  stopPieces(): void {
    if (this.#pieces !== undefined) this.socket.off("data", this.#pieces.add);
    this.#pieces = undefined;
  }

  /** It is known from elsewhere that no more than this is held. */
  limitUnfinished(bytes: number): void {
    if (this.unfinishedBytes > bytes) this.#delivered = (this.socket.bytesRead - bytes) | 0;
  }

  /** What is missing of an unfinished message is up to the peer: the server reads, or would if it were not suspended. */
  get isRead(): boolean {
    return !this.#paused || this.#suspended;
  }

  /** Stops reading, or continues where nothing else speaks against it. */
  suspend(suspended: boolean): void {
    if (suspended === this.#suspended) return;
    this.#suspended = suspended;
    if (suspended) this.pause();
    else this.#resume();
  }

  /** Ends without waiting for the peer; called again, does not wait for the close frame to leave either. */
  drop(code: number, reason: string): void {
    if (this.ended) return this.ws.terminate();
    this.closed(reason);
    this.ws.close(code, reason);
  }

  /** Frames of this size take long enough to look at the clock after each. */
  protected isHeavy(bytes: number): boolean {
    return bytes >= LARGE_FRAME;
  }

  protected unblock(): void {
    this.blocked = false;
    const { runQueue } = this.limits;
    if ((this.#waits && runQueue.isSpent()) || this.runSlice()) runQueue.add(this);
  }

  protected pause(): void {
    this.#paused = true;
    this.ws.pause();
  }

  /** Forgets what waits on either side. */
  protected forget(): void {
    this.#queue?.clear();
    this.giveUntaken();
  }

  get #waits(): boolean {
    return this.#queue !== undefined && this.#queue.size > 0;
  }

  /** The first small frame of a turn is always handled: a peer that waits for each answer costs no look at the clock. */
  #isTurnSpent(bytes: number): boolean {
    const isHeavy = this.isHeavy(bytes);
    if (!this.corked && !isHeavy) return false;
    this.#work += isHeavy ? FRAMES_PER_LOOK : 1;
    if (this.#work < FRAMES_PER_LOOK) return false;
    this.#work = 0;
    return this.limits.runQueue.isSpent();
  }

  /** The least that a frame takes on the wire: two bytes, the extended length, the mask, the payload. */
  #count(length: number): void {
    const header = length < 126 ? 6 : length < 65_536 ? 8 : 14;
    this.#delivered = (this.#delivered + header + length) | 0;
  }

  #enqueue(data: Buffer, isBinary: boolean): void {
    if (this.ended) return;
    const { backlog } = this.limits;
    if (backlog.isExhausted) return this.drop(CLOSE_CODES.overloaded, "too much waits on this server: try again later");
    this.#queue ??= new FrameQueue(backlog);
    this.#queue.push(data, isBinary, readArrival());
    if (this.#queue.isFull) this.pause();
  }

  #resume(): void {
    if (!this.#paused || this.#suspended || this.untakenBytes > 0 || this.#queue?.isLow === false) return;
    this.#paused = false;
    this.ws.resume();
  }
}
