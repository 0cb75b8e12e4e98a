import type { Socket } from "node:net";
import type { WebSocket } from "ws";
import { CLOSE_CODES } from "../../../protocol/messages.js";
import type { Holder } from "../../limits/backlog.js";
import { readArrival } from "../../limits/loop-clock.js";
import { LARGE_MESSAGE, type Runnable } from "../../limits/run-queue.js";
import { InboundQueue } from "./inbound-queue.js";
import { MessageTracker } from "./message-tracker.js";
import { type ConnectionLimits, Outflow } from "./outflow.js";

/** The clock is read once for this many pipelined frames, or for a large one. */
const FRAMES_PER_LOOK = 8;
/** More of an unfinished message is charged at once; less at the next look. */
const CHARGED_AT = 64 * 1024;
/** How long the close frame has to leave when memory is short. */
const CLOSE_TIMEOUT_MS = 100;

export interface InflowParts {
  ws: WebSocket;
  socket: Socket;
  limits: ConnectionLimits;
}

/** When the frames of a socket are read and handled, and how much of it `ws` and the socket hold meanwhile. */
export abstract class Inflow extends Outflow implements Runnable, Holder {
  scheduled = false;
  readonly endsTurn = false;
  /** Frames of this size take long enough to look at the clock after each. */
  protected heavyBytes = LARGE_MESSAGE;
  /** When the frame that is handled arrived, by the clock of `performance.now()`. */
  arrivedAt = 0;
  /** Its unfinished message is read further although the backlog is full. */
  mayGrow = false;
  readonly #tracker: MessageTracker;
  /** What is charged for what came in and is not a frame yet. */
  #unfinished = 0;
  #heardBytes = -1;
  #queue: InboundQueue | undefined;
  #work = 0;
  #paused = false;
  #suspended = false;

  constructor({ ws, socket, limits }: InflowParts) {
    super(ws, socket, limits);
    this.#tracker = new MessageTracker((kept) => {
      if (kept - this.#unfinished >= CHARGED_AT) this.#chargeLarge();
    });
    socket.on("data", this.#tracker.read);
  }

  /** Answers one frame by {@link send}; leaves {@link blocked} set when the answer comes later. */
  protected abstract handle(data: Buffer | string, isBinary: boolean): void;
  /** Everything that came in has been answered. */
  protected abstract idle(): void;

  /** The first small frame of a turn is always handled: a peer that waits for each answer costs no look at the clock. */
  receive(data: Buffer, isBinary: boolean): void {
    if (this.blocked || this.scheduled) this.#enqueue(data, isBinary);
    else if (this.ended) return;
    else if ((this.corked || data.byteLength >= this.heavyBytes) && this.#isTurnSpent(data.byteLength)) {
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
    const { byteLength } = payload;
    if (this.ended || this.#paused || !(this.corked || byteLength >= this.heavyBytes)) return;
    if (!this.#isTurnSpent(byteLength)) return;
    this.pause();
    this.limits.runQueue.add(this);
  }

  runSlice(): boolean {
    for (let work = 0; !this.blocked && !this.ended; ) {
      const next = this.#queue?.shift();
      if (next === undefined) break;
      this.arrivedAt = next.arrivedAt;
      this.handle(next.data, next.isBinary);
      work += next.bytes >= this.heavyBytes ? FRAMES_PER_LOOK : 1;
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

  /** What `ws` keeps of a message that is not complete. */
  get unfinishedBytes(): number {
    return this.released ? 0 : this.#tracker.heldBytes;
  }

  get heldBytes(): number {
    return (this.#queue?.bytes ?? 0) + this.#unfinished + this.untakenBytes;
  }

  /** Charges what `ws` and the socket hold by now. */
  chargeHeld(): void {
    this.chargeUntaken();
    const unread = this.#paused && !this.released ? this.socket.readableLength : 0;
    const more = this.unfinishedBytes + unread - this.#unfinished;
    if (more === 0) return;
    this.#unfinished += more;
    this.limits.backlog.hold(more);
    if (more > 0) this.join();
  }

  #chargeLarge(): void {
    this.chargeHeld();
    if (this.limits.backlog.isFull && !this.mayGrow) this.suspend(true);
  }

  /** `ws` reads no further: what it keeps stays until the socket closes, and what comes is dropped. */
  stopTracking(): void {
    this.socket.off("data", this.#tracker.read);
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

  /** Memory is short: whatever it holds is free as soon as the close frame has had time to leave. */
  shed(reason: string): void {
    if (this.released) return;
    this.drop(CLOSE_CODES.overloaded, reason);
    this.release();
    setTimeout(() => this.ws.terminate(), CLOSE_TIMEOUT_MS).unref();
  }

  /** Ends without waiting for the peer; called again, does not wait for the close frame to leave either. */
  drop(code: number, reason: string): void {
    if (this.ended) return this.ws.terminate();
    this.closed(reason);
    this.ws.close(code, reason);
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

  /** Forgets what waits for its turn. */
  protected forget(): void {
    this.#queue?.clear();
  }

  /** Nothing is held any more, or will soon not be. */
  protected release(): void {
    this.released = true;
    this.chargeHeld();
    this.limits.backlog.leave(this);
  }

  protected join(): void {
    const { backlog } = this.limits;
    backlog.join(this);
    backlog.relieve();
  }

  get #waits(): boolean {
    return this.#queue !== undefined && this.#queue.size > 0;
  }

  #isTurnSpent(bytes: number): boolean {
    this.#work += bytes >= this.heavyBytes ? FRAMES_PER_LOOK : 1;
    if (this.#work < FRAMES_PER_LOOK) return false;
    this.#work = 0;
    return this.limits.runQueue.isSpent();
  }

  #enqueue(data: Buffer, isBinary: boolean): void {
    if (this.ended) return;
    this.#queue ??= new InboundQueue(this.limits.backlog);
    this.#queue.push(data, isBinary, readArrival());
    if (this.#queue.isFull) this.pause();
    this.join();
  }

  #resume(): void {
    if (!this.#paused || this.#suspended || this.awaitsDrain || this.#queue?.isLow === false) return;
    this.#paused = false;
    this.ws.resume();
  }
}
