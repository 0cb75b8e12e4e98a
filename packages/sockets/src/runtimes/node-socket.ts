import { isUtf8 } from "node:buffer";
import type { Socket } from "node:net";
import { WebSocket } from "ws";
import { reasonOf } from "../close-codes.js";
import { frameOf, largeFrameHeader, TEXT, textFrameHeader, unmask } from "./frames.js";
import { endOfFrame, MessageTracker, startOfPayload } from "./message-tracker.js";
import type { AcceptOptions, MessageParts, PeerSocket, SocketPeer } from "./runtime.js";
import { type FirstReader, replaceParts } from "./ws-parts.js";

/** Up to this size, answers and unread data are not counted individually, bytes. */
const SMALL = 4 * 1024;
/** The memory of a waiting answer in addition to its content (measured with Node 20 on x64). */
const ANSWER_BYTES = 512;
/** The size in bytes from which payloads are not copied into one buffer with their header. */
const LARGE = 16 * 1024;

/** Stores the peer on the socket: a session needs no closure and no map entry. */
export class NodeSocket extends WebSocket implements PeerSocket, FirstReader {
  peer!: SocketPeer;
  readonly freesUnread = true;
  #stream!: Socket;
  /** Set with the first message that does not arrive whole. */
  #tracker: MessageTracker | undefined;
  #maxBytes = 0;
  /** The number of waiting answers, without the first few. */
  #answers = 0;
  #onTaken: (() => void) | undefined;
  /** True while a message is handled that was alone in its chunk. */
  #isAlone = false;
  /** What ends this turn, and its argument. */
  #end: ((peer: unknown) => void) | undefined;
  #ending: unknown;
  /** The payload of the last pong that waits for the peer to read. */
  #pong: Uint8Array | undefined;

  begin(stream: Socket, { maxBytes, open }: AcceptOptions): void {
    this.#stream = stream;
    this.#maxBytes = maxBytes;
    if (!replaceParts(this, stream)) stream.on("data", (chunk: Buffer) => this.track(chunk));
    open(this);
  }

  /** Replaces a listener for each event, which every socket would have to add. */
  override emit(event: string | symbol, value?: unknown, isBinary?: boolean): boolean {
    const { peer } = this;
    if (event === "message") peer.receive(value as Buffer, isBinary as boolean);
    else if (event === "ping") peer.pinged(value as Buffer);
    else if (event === "pong") peer.ponged(value as Buffer);
    else if (event === "close") peer.gone(reasonOf(value));
    // After "error", "close" follows.
    return true;
  }

  /** Reads the short text messages at the start of a chunk: most chunks are one. Returns where the others begin. */
  readShort(chunk: Buffer): number {
    let at = 0;
    if (this.unfinishedBytes > 0) return at;
    while (chunk[at] === TEXT) {
      const end = endOfFrame(chunk, at);
      if (end === 0 || !this.#readFrame(chunk, at, end)) break;
      at = end;
    }
    return at;
  }

  /** Returns false for a frame that `ws` must read. */
  #readFrame(chunk: Buffer, at: number, end: number): boolean {
    const start = startOfPayload(chunk, at);
    const length = end - start;
    if (length > SMALL || length > this.#maxBytes) return false;
    const isAscii = unmask(chunk, start, end) < 0x80;
    if (!isAscii && !isUtf8(chunk.subarray(start, end))) {
      // Masked again: `ws` knows how to reject it.
      unmask(chunk, start, end);
      return false;
    }
    this.#isAlone = at === 0 && end === chunk.length;
    try {
      this.peer.receive(chunk.toString(isAscii ? "latin1" : "utf8", start, end), false);
    } finally {
      this.#isAlone = false;
      const endTurn = this.#end;
      this.#end = undefined;
      endTurn?.(this.#ending);
    }
    return true;
  }

  /** Follows what `ws` has read. */
  track(chunk: Buffer): void {
    // Nothing of it is kept.
    if (this.unfinishedBytes === 0 && endOfFrame(chunk, 0) === chunk.length) return;
    this.#tracker ??= new MessageTracker((kept) => this.peer.grew(kept));
    this.#tracker.read(chunk);
  }

  override send(message: string | Uint8Array): void {
    if (this.readyState !== this.OPEN) return;
    const { length } = message;
    const isText = typeof message === "string";
    const stream = this.#stream;
    if (length >= LARGE) {
      // A waiting string would be in memory twice: the system call has its own copy.
      return super.send(isText ? Buffer.from(message) : message, { binary: !isText }, this.#untilTaken());
    }
    // `ws` would write the header and the payload of a frame as two buffers.
    const bytes = isText ? Buffer.byteLength(message) : length;
    const waits = length >= SMALL || stream.writableLength >= SMALL;
    if (waits) stream.write(frameOf(message, bytes), this.#untilTaken());
    else if (isText && bytes === length) stream.write(textFrameHeader(length) + message, "latin1");
    else stream.write(frameOf(message, bytes));
  }

  sendParts({ list, length, isText }: MessageParts): void {
    if (this.readyState !== this.OPEN) return;
    const stream = this.#stream;
    stream.cork();
    stream.write(largeFrameHeader(length, isText), this.#untilTaken());
    for (const part of list) stream.write(part);
    stream.uncork();
  }

  /** Counts an answer until the returned function is called. */
  #untilTaken(): () => void {
    this.#answers++;
    return (this.#onTaken ??= () => void this.#answers--);
  }

  get untaken(): number {
    const { writableLength } = this.#stream;
    return writableLength === 0 ? 0 : writableLength + this.#answers * ANSWER_BYTES;
  }

  awaitDrain(stallMs: number): void {
    const stream = this.#stream;
    const onStall = (): void => this.peer.stalled();
    stream.setTimeout(stallMs, onStall);
    stream.once("drain", () => {
      stream.setTimeout(0, onStall);
      this.peer.drained();
    });
  }

  cork<P>(end: (peer: P) => void, peer: P): void {
    if (this.#isAlone) {
      // There will be no other answer to write together with this one.
      this.#end = end as (peer: unknown) => void;
      this.#ending = peer;
    } else {
      this.#stream.cork();
      process.nextTick(end, peer);
    }
  }

  uncork(): void {
    this.#stream.uncork();
  }

  together(send: () => void): void {
    this.#stream.cork();
    send();
    this.#stream.uncork();
  }

  override ping(): boolean {
    super.ping();
    return true;
  }

  override pong(payload: Uint8Array): void {
    const stream = this.#stream;
    if (!stream.writableNeedDrain) {
      if (this.readyState === this.OPEN) super.pong(payload);
      return;
    }
    if (this.#pong === undefined) {
      stream.once("drain", () => {
        const last = this.#pong as Uint8Array;
        this.#pong = undefined;
        this.pong(last);
      });
    }
    this.#pong = payload;
  }

  override pause(): boolean {
    super.pause();
    return true;
  }

  get bytesRead(): number {
    return this.#stream.bytesRead;
  }

  get unfinishedBytes(): number {
    return this.#tracker === undefined ? 0 : this.#tracker.heldBytes;
  }

  get unreadBytes(): number {
    return this.#stream.readableLength;
  }
}
