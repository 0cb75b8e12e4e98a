import type { Socket } from "node:net";
import type { WebSocket } from "ws";
import type { Backlog } from "../../limits/backlog.js";
import type { RunQueue } from "../../limits/run-queue.js";
import type { EncodedReply } from "../encode-reply.js";

/** Answers that the peer has not taken beyond which no more of its frames are read or handled, bytes. */
const HIGH_WATER = 4 * 1024 * 1024;
/** The same when the backlog of all connections is full: more than a socket takes at once. */
const FULL_HIGH_WATER = 64 * 1024;

/** Answers and what waits of them up to this size are not counted one by one, bytes. */
const SMALL = 4 * 1024;
/** What an answer costs besides its content while it waits (measured with Node 20 on x64). */
const ANSWER_BYTES = 512;

/** What all connections of a server share. */
export interface ConnectionLimits {
  /** Bytes that wait on either side of all connections: parts of frames, frames for their turn, untaken answers. */
  readonly backlog: Backlog;
  /** Milliseconds in which a peer must take some of the answers that wait for it. */
  readonly stallMs: number;
  readonly runQueue: RunQueue;
}

/** How answers and pongs leave a socket, and what happens while the peer does not take them. */
export abstract class Outflow {
  protected readonly ws: WebSocket;
  protected readonly socket: Socket;
  protected readonly limits: ConnectionLimits;
  /** No frame is handled: a session or an answer is being made, or the peer must take answers first. */
  protected blocked = true;
  protected ended = false;
  /** An answer or a pong is on its way out in this turn of the event loop. */
  protected corked = false;
  /** The peer is waited for to take its answers. */
  protected awaitsDrain = false;
  /** The close frame of memory that is short is on its way, or the socket has closed: nothing is charged any more. */
  protected released = false;
  /** What is charged for answers that the system has not taken. */
  #untaken = 0;
  /** Answers among them, but for the first few. */
  #answers = 0;
  readonly #onTaken = (): void => void this.#answers--;
  /** The payload of the latest ping that has no pong yet. */
  #ping: Buffer | undefined;
  #pongWaits = false;

  constructor(ws: WebSocket, socket: Socket, limits: ConnectionLimits) {
    this.ws = ws;
    this.socket = socket;
    this.limits = limits;
  }

  /** Nothing more is expected of the peer. */
  abstract closed(reason: string): void;
  protected abstract join(): void;
  protected abstract pause(): void;
  /** Handles what waits. */
  protected abstract unblock(): void;

  protected send(answer: EncodedReply): void {
    const { ws, socket } = this;
    const { length } = answer;
    const isText = typeof answer === "string";
    if (!this.corked) this.#cork();
    if (length >= SMALL || socket.writableLength >= SMALL) {
      this.#answers++;
      // What waits as a string is held twice: the system call has its own copy.
      ws.send(isText ? Buffer.from(answer) : answer, { binary: !isText }, this.#onTaken);
    } else if (isText && Buffer.byteLength(answer) === length) {
      // Most answers are short ASCII texts. `ws` would write header and text of their frame apart, as two buffers.
      if (ws.readyState === ws.OPEN) socket.write(textFrameHeader(length) + answer, "latin1");
    } else ws.send(answer);
  }

  /** Pings that come in one go are answered by one pong, to the latest (RFC 6455, section 5.5.3). */
  protected pong(payload: Buffer): void {
    this.#ping = payload;
    if (!this.corked) this.#cork();
  }

  /** True when the peer takes its answers too slowly: nothing more is read or handled until it has. */
  protected waitForDrain(): boolean {
    const { socket } = this;
    const { backlog, stallMs } = this.limits;
    const untaken = socket.writableLength;
    if (untaken < FULL_HIGH_WATER || (untaken < HIGH_WATER && !backlog.isFull)) return false;
    if (this.ended) return true;
    this.blocked = true;
    this.awaitsDrain = true;
    this.pause();
    // Nothing is read, so that only what the peer takes counts as a sign of life.
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

  /** Charges what the system has not taken by now. */
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

  /** Answers of one turn leave in one write. */
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

  /** A close frame would have to wait behind the answers. */
  #stalled(): void {
    this.closed("its answers were not taken");
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
