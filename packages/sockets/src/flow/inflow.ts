import { CLOSE } from "../close-codes.js";
import type { Holder } from "../limits/backlog.js";
import { readArrival } from "../limits/loop-clock.js";
import type { PeerSocket, SocketPeer } from "../runtimes/runtime.js";
import type { Registry } from "../scheduling/registry.js";
import { LARGE_MESSAGE, type Runnable } from "../scheduling/run-queue.js";
import type { HeartbeatPeer } from "./heartbeat.js";
import { InboundQueue } from "./inbound-queue.js";
import { type ConnectionLimits, Outflow } from "./outflow.js";

/** The clock is read once for this many pipelined frames, or for a large frame. */
const FRAMES_PER_LOOK = 8;
/** A larger unfinished message is charged at once; a smaller one at the next sweep. */
const CHARGED_AT = 64 * 1024;
/** The time that the close frame gets when memory is low. */
const CLOSE_TIMEOUT_MS = 100;

export interface InflowParts {
  ws: PeerSocket;
  limits: ConnectionLimits;
}

/** The receiving side of a socket: when frames are read and handled, and how much the runtime holds. */
export abstract class Inflow extends Outflow implements HeartbeatPeer, Holder, Runnable, SocketPeer {
  scheduled = false;
  /** The sockets that get pings at the same time. */
  group: Registry<Inflow> | undefined;
  readonly endsTurn = false;
  /** Frames of this size take long enough to check the clock after each. */
  protected heavyBytes = LARGE_MESSAGE;
  /** When the current frame arrived, on the clock of `performance.now()`. */
  arrivedAt = 0;
  /** True while its unfinished message is read despite a full backlog. */
  mayGrow = false;
  /** The bytes that are charged for an unfinished message. */
  #unfinished = 0;
  /** The bytes that stay in memory after it was shed. */
  #kept = 0;
  #heardBytes: number | undefined = -1;
  #queue: InboundQueue | undefined;
  #work = 0;
  #paused = false;
  #suspended = false;

  constructor({ ws, limits }: InflowParts) {
    super(ws, limits);
  }

  grew(bytes: number): void {
    if (bytes - this.#unfinished >= CHARGED_AT) this.#chargeLarge();
  }

  /** Answers one frame with {@link send}; leaves {@link blocked} set if the answer comes later. */
  protected abstract handle(data: Buffer | string, isBinary: boolean): void;
  /** Called when all frames have been answered. */
  protected abstract idle(): void;

  gone(reason: string): void {
    this.group?.remove(this);
    this.showLife(false);
    this.closed(reason);
    this.release();
  }

  /** The first small frame of a turn is always handled: a peer that waits for each answer needs no clock check. */
  receive(data: Buffer | string, isBinary: boolean): void {
    const { length } = data;
    if (this.blocked || this.scheduled) this.#enqueue(data, isBinary);
    else if (this.ended) return;
    else if ((this.corked || length >= this.heavyBytes) && this.#isTurnSpent(length)) {
      this.#enqueue(data, isBinary);
      this.limits.runQueue.add(this);
    } else {
      this.arrivedAt = readArrival();
      this.handle(data, isBinary);
    }
  }

  pinged(payload: Buffer): void {
    this.pong(payload);
    this.#controlled(payload);
  }

  ponged(payload: Buffer): void {
    this.showLife(true);
    this.#controlled(payload);
  }

  /** Control frames cannot be queued: when the turn is used up, reading pauses instead. */
  #controlled({ byteLength }: Buffer): void {
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
    if (this.waits) return true;
    this.idle();
    return false;
  }

  /** True if a pong or a part of a frame arrived since the last call, or if the socket is not being read. */
  wasHeard(): boolean {
    const { bytesRead } = this;
    const heard = bytesRead === undefined || bytesRead !== this.#heardBytes || this.#paused;
    this.#heardBytes = bytesRead;
    return heard;
  }

  get bytesRead(): number | undefined {
    return this.ws.bytesRead;
  }

  /** The bytes of an unfinished message in the runtime. */
  get unfinishedBytes(): number {
    return this.released ? 0 : this.ws.unfinishedBytes;
  }

  get heldBytes(): number {
    return (this.#queue?.bytes ?? 0) + this.#unfinished + this.untakenBytes;
  }

  /** Charges the bytes that the runtime holds now. */
  chargeHeld(): void {
    this.chargeUntaken();
    const unread = this.#paused && !this.released ? this.ws.unreadBytes : 0;
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

  /** True when an unfinished message waits only for the peer: the server reads, or would if it were not suspended. */
  get isRead(): boolean {
    return !this.#paused || this.#suspended;
  }

  /** Stops reading, or continues unless there is another reason to pause. */
  suspend(suspended: boolean): void {
    if (suspended === this.#suspended) return;
    this.#suspended = suspended;
    if (suspended) this.pause();
    else this.#resume();
  }

  /** Closes the connection when memory is low. Its memory is freed once the close frame had time to be sent, or kept. */
  shed(reason: string): void {
    if (this.released) return;
    this.drop(CLOSE.overloaded, reason);
    this.release();
    this.#kept = this.limits.backlog.keep(this.ws);
    setTimeout(() => this.ws.terminate(), CLOSE_TIMEOUT_MS).unref();
  }

  /** Closes without waiting for the peer; a second call does not wait for the close frame either. */
  drop(code: number, reason: string): void {
    if (this.ended) return this.ws.terminate();
    this.closed(reason);
    this.ws.close(code, reason);
  }

  protected unblock(): void {
    this.blocked = false;
    const { runQueue } = this.limits;
    if ((this.waits && runQueue.isSpent()) || this.runSlice()) runQueue.add(this);
  }

  /** Returns false when the runtime reads on. */
  protected pause(): boolean {
    this.#paused = true;
    return this.ws.pause();
  }

  /** Drops all waiting frames. */
  protected forget(): void {
    this.#queue?.clear();
  }

  /** Returns all charged bytes: their memory is free, or will be soon. */
  protected release(): void {
    this.released = true;
    this.chargeHeld();
    this.limits.backlog.leave(this);
    this.limits.backlog.forget(this.#kept);
    this.#kept = 0;
  }

  protected join(): void {
    const { backlog } = this.limits;
    backlog.join(this);
    backlog.relieve();
  }

  /** True when frames wait to be handled. */
  protected get waits(): boolean {
    return this.#queue !== undefined && this.#queue.size > 0;
  }

  #isTurnSpent(bytes: number): boolean {
    this.#work += bytes >= this.heavyBytes ? FRAMES_PER_LOOK : 1;
    if (this.#work < FRAMES_PER_LOOK) return false;
    this.#work = 0;
    return this.limits.runQueue.isSpent();
  }

  #enqueue(data: Buffer | string, isBinary: boolean): void {
    if (this.ended) return;
    this.#queue ??= new InboundQueue(this.limits.backlog);
    this.#queue.push(data, isBinary, readArrival());
    const isRead = this.#queue.isFull && !this.pause();
    this.join();
    if (isRead && this.#queue.isOverfull) this.drop(CLOSE.policy, "too many messages wait for their answers");
  }

  #resume(): void {
    if (!this.#paused || this.#suspended || this.awaitsDrain || this.#queue?.isLow === false) return;
    this.#paused = false;
    this.ws.resume();
  }
}
