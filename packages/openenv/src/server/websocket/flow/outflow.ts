import type { Socket } from "node:net";
import type { WebSocket } from "ws";
import type { Backlog } from "../../limits/backlog.js";
import type { RunQueue } from "../../limits/run-queue.js";
import type { EncodedReply } from "../encode-reply.js";

/** Unread answers at which no more frames of the peer are read or handled, bytes. */
const HIGH_WATER = 4 * 1024 * 1024;
/** The same while the backlog of all connections is full: more than a socket accepts at once. */
const FULL_HIGH_WATER = 64 * 1024;

/** Up to this size, answers and unread data are not counted individually, bytes. */
const SMALL = 4 * 1024;
/** The memory of a waiting answer in addition to its content (measured with Node 20 on x64). */
const ANSWER_BYTES = 512;

/** How long a peer may take to answer a ping before another one takes over its session. */
const ALIVE_MS = 1_000;

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
  protected readonly ws: WebSocket;
  protected readonly socket: Socket;
  protected readonly limits: ConnectionLimits;
  /** True while no frame is handled: a session or an answer is in progress, or the peer must read answers first. */
  protected blocked = true;
  protected ended = false;
  /** True while an answer or a pong is written in this turn of the event loop. */
  protected corked = false;
  /** True while the server waits for the peer to read its answers. */
  protected awaitsDrain = false;
  /** True once the socket has closed or is closing because memory is low: nothing more is charged. */
  protected released = false;
  /** The bytes that are charged for answers that the system has not accepted. */
  #untaken = 0;
  /** The number of these answers, without the first few. */
  #answers = 0;
  readonly #onTaken = (): void => void this.#answers--;
  /** The payload of the last ping without a pong. */
  #ping: Buffer | undefined;
  #pongWaits = false;

  constructor(ws: WebSocket, socket: Socket, limits: ConnectionLimits) {
    this.ws = ws;
    this.socket = socket;
    this.limits = limits;
  }

  /** Called when nothing more is expected of the peer. */
  abstract closed(reason: string): void;
  protected abstract join(): void;
  protected abstract pause(): void;
  /** Handles waiting frames. */
  protected abstract unblock(): void;

  /** Whether the peer answers a ping in time. */
  isAlive(): Promise<boolean> {
    const { ws } = this;
    if (this.ended) return Promise.resolve(false);
    return new Promise((resolve) => {
      const settle = (isAlive: boolean): void => {
        clearTimeout(timer);
        ws.off("pong", onPong).off("close", onClose);
        resolve(isAlive);
      };
      const onPong = (): void => settle(true);
      const onClose = (): void => settle(false);
      const timer = setTimeout(onClose, ALIVE_MS);
      ws.once("pong", onPong).once("close", onClose).ping();
    });
  }

  protected send(answer: EncodedReply): void {
    const { ws, socket } = this;
    const { length } = answer;
    const isText = typeof answer === "string";
    if (!this.corked) this.#cork();
    if (length >= SMALL || socket.writableLength >= SMALL) {
      this.#answers++;
      // A waiting string would be in memory twice: the system call has its own copy.
      ws.send(isText ? Buffer.from(answer) : answer, { binary: !isText }, this.#onTaken);
    } else if (isText && Buffer.byteLength(answer) === length) {
      // Most answers are short ASCII text. `ws` would write the header and the text of a frame as two buffers.
      if (ws.readyState === ws.OPEN) socket.write(textFrameHeader(length) + answer, "latin1");
    } else ws.send(answer);
  }

  /** Several pings in one read are answered by one pong, to the last (RFC 6455, section 5.5.3). */
  protected pong(payload: Buffer): void {
    this.#ping = payload;
    if (!this.corked) this.#cork();
  }

  /** Returns true when the peer reads its answers too slowly: nothing more is read or handled until it has. */
  protected waitForDrain(): boolean {
    const { socket } = this;
    const { backlog, stallMs } = this.limits;
    const untaken = socket.writableLength;
    if (untaken < FULL_HIGH_WATER || (untaken < HIGH_WATER && !backlog.isFull)) return false;
    if (this.ended) return true;
    this.blocked = true;
    this.awaitsDrain = true;
    this.pause();
    // Nothing is read, so only answers that the peer reads count as a sign of life.
    const onStall = (): void => this.#stalled();
    socket.setTimeout(stallMs, onStall);
    socket.once("drain", () => {
      socket.setTimeout(0, onStall);
      this.awaitsDrain = false;
      this.chargeUntaken();
      this.unblock();
    });
    return true;
  }

  /** Charges the bytes that the system has not accepted. */
  protected chargeUntaken(): void {
    const { writableLength } = this.socket;
    const untaken = this.released || writableLength === 0 ? 0 : writableLength + this.#answers * ANSWER_BYTES;
    const more = untaken - this.#untaken;
    if (more === 0) return;
    this.#untaken = untaken;
    this.limits.backlog.hold(more);
    if (more > 0) this.join();
  }

  protected get untakenBytes(): number {
    return this.#untaken;
  }

  /** Collects the answers of one turn in one write. */
  #cork(): void {
    this.corked = true;
    this.socket.cork();
    process.nextTick(uncork, this);
  }

  #sendPong(): void {
    const { ws, socket } = this;
    if (this.#ping === undefined || this.#pongWaits) return;
    if (socket.writableNeedDrain) {
      this.#pongWaits = true;
      socket.once("drain", () => {
        this.#pongWaits = false;
        this.#sendPong();
      });
      return;
    }
    if (ws.readyState === ws.OPEN) ws.pong(this.#ping);
    this.#ping = undefined;
  }

  /** Destroys the socket: a close frame would have to wait behind the answers. */
  #stalled(): void {
    this.closed("the client did not read its answers");
    this.ws.terminate();
  }

  static uncork(outflow: Outflow): void {
    const { socket } = outflow;
    outflow.corked = false;
    if (outflow.#ping !== undefined) outflow.#sendPong();
    socket.uncork();
    if (socket.writableLength > 0 || outflow.#untaken > 0) outflow.chargeUntaken();
  }
}

const { uncork } = Outflow;

/** The header of an unmasked text frame of fewer than 64 KiB (RFC 6455, section 5.2), one character for each byte. */
function textFrameHeader(length: number): string {
  return length < 126 ? String.fromCharCode(0x81, length) : String.fromCharCode(0x81, 126, length >> 8, length & 0xff);
}
