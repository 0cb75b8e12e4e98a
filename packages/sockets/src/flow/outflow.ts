import type { Backlog } from "../limits/backlog.js";
import { MessageParts, type PeerSocket } from "../runtimes/runtime.js";
import { afterReading } from "../scheduling/after-reading.js";
import type { RunQueue } from "../scheduling/run-queue.js";

/** Unread answers at which no more frames of the peer are read or handled, bytes. */
const HIGH_WATER = 4 * 1024 * 1024;
/** The same while the backlog of all connections is full: more than a socket accepts at once. */
const FULL_HIGH_WATER = 64 * 1024;

/** The time that a peer may take to answer a ping before another one takes over its session. */
const ALIVE_MS = 1_000;

/** A text frame, a binary frame, or a long message in parts. */
type Sendable = string | Uint8Array | MessageParts;

/** The limits that all connections of a server share. */
export interface ConnectionLimits {
  /** The bytes that wait on all connections: parts of frames, queued frames, unread answers. */
  readonly backlog: Backlog;
  /** Milliseconds within which a peer must read some of the answers that wait for it. */
  readonly stallMs: number;
  readonly runQueue: RunQueue;
}

/** The sending side of a socket: writes answers and pongs, and waits for a peer that does not read them. */
export abstract class Outflow {
  protected readonly ws: PeerSocket;
  protected readonly limits: ConnectionLimits;
  /** True while no frame is handled: a session or an answer is in progress, or the peer must read answers first. */
  protected blocked = true;
  ended = false;
  missedPings = 0;
  /** Its place among the sockets that get pings at the same time. */
  index = -1;
  /** True while an answer or a pong is written in this turn of the event loop. */
  protected corked = false;
  /** True while the server waits for the peer to read its answers. */
  protected awaitsDrain = false;
  /** True once the socket has closed or is closing because memory is low: nothing more is charged. */
  protected released = false;
  /** The bytes that are charged for answers that the system has not accepted. */
  #untaken = 0;
  /** The payload of the last ping without a pong. */
  #ping: Buffer | undefined;
  /** Called by the next pong, or when the socket closes. */
  #onLife: ((isAlive: boolean) => void) | undefined;

  constructor(ws: PeerSocket, limits: ConnectionLimits) {
    this.ws = ws;
    this.limits = limits;
  }

  /** Called when nothing more is expected of the peer. */
  abstract closed(reason: string): void;
  protected abstract join(): void;
  protected abstract pause(): boolean;
  /** Handles waiting frames. */
  protected abstract unblock(): void;

  ping(): void {
    if (this.ws.bytesRead !== undefined) this.ws.ping();
  }

  close(code: number, reason: string): void {
    this.ws.close(code, reason);
  }

  terminate(): void {
    this.ws.terminate();
  }

  /** True when the peer answers a ping in time, or when the runtime cannot ask: it closes dead sockets itself. */
  isAlive(): Promise<boolean> {
    if (this.ended) return Promise.resolve(false);
    return new Promise((resolve) => {
      const settle = (isAlive: boolean): void => {
        clearTimeout(timer);
        resolve(isAlive);
      };
      const timer = afterReading(ALIVE_MS, () => settle(false));
      const before = this.#onLife;
      this.#onLife = (isAlive) => {
        before?.(isAlive);
        settle(isAlive);
      };
      if (!this.ws.ping()) settle(true);
    });
  }

  /** The peer has answered a ping, or has gone. */
  protected showLife(isAlive: boolean): void {
    this.#onLife?.(isAlive);
    this.#onLife = undefined;
  }

  protected send(answer: Sendable): void {
    if (!this.corked) this.#cork();
    this.#write(answer);
  }

  /** Sends an answer after which none follows in this turn, so that nothing need be collected. */
  protected sendLast(answer: Sendable): void {
    this.#write(answer);
    if (!this.corked) this.#chargeIfWaiting();
  }

  #write(answer: Sendable): void {
    if (answer instanceof MessageParts) this.ws.sendParts(answer);
    else this.ws.send(answer);
  }

  /** Several pings in one read are answered by one pong, to the last (RFC 6455, section 5.5.3). */
  protected pong(payload: Buffer): void {
    this.#ping = payload;
    if (!this.corked) this.#cork();
  }

  /** Returns true when the peer reads its answers too slowly: nothing more is read or handled until it has. */
  protected waitForDrain(): boolean {
    const { backlog, stallMs } = this.limits;
    const { untaken } = this.ws;
    if (untaken < FULL_HIGH_WATER || (untaken < HIGH_WATER && !backlog.isFull)) return false;
    if (this.ended) return true;
    this.blocked = true;
    this.awaitsDrain = true;
    this.pause();
    // Nothing is read, so only answers that the peer reads count as a sign of life.
    this.ws.awaitDrain(stallMs);
    return true;
  }

  drained(): void {
    this.awaitsDrain = false;
    this.chargeUntaken();
    this.unblock();
  }

  /** Destroys the socket: a close frame would have to wait behind the answers. */
  stalled(): void {
    this.closed("the client did not read its answers");
    this.ws.terminate();
  }

  /** Charges the bytes that the system has not accepted. */
  protected chargeUntaken(): void {
    const untaken = this.released ? 0 : this.ws.untaken;
    const more = untaken - this.#untaken;
    if (more === 0) return;
    this.#untaken = untaken;
    this.limits.backlog.hold(more);
    if (more > 0) this.join();
  }

  #chargeIfWaiting(): void {
    if (this.ws.untaken > 0 || this.#untaken > 0) this.chargeUntaken();
  }

  protected get untakenBytes(): number {
    return this.#untaken;
  }

  /** Collects the answers of one turn in one write. */
  #cork(): void {
    this.corked = true;
    this.ws.cork(uncork, this as Outflow);
  }

  static uncork(outflow: Outflow): void {
    const { ws } = outflow;
    outflow.corked = false;
    if (outflow.#ping !== undefined) {
      ws.pong(outflow.#ping);
      outflow.#ping = undefined;
    }
    ws.uncork();
    outflow.#chargeIfWaiting();
  }
}

const { uncork } = Outflow;
