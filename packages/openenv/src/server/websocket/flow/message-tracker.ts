const MASKED_HEADER = 6;
const LONGEST_HEADER = 14;
/** A frame of this size has a longer header. */
const SHORT = MASKED_HEADER + 126;

/** What a read and a fragment cost besides their content while they are kept (measured with Node 20 on x64). */
const READ_BYTES = 400;
const FRAGMENT_BYTES = 192;

/** Follows the frames that a client sends by their headers, to know what the receiver of `ws` keeps of a message. */
export class MessageTracker {
  /** Bytes of the message that is not complete, with the headers of its frames. */
  #bytes = 0;
  /** What the reads and fragments cost that it consists of. */
  #overhead = 0;
  /** What is still to come of the frame, or 0 at its header. */
  #left = 0;
  #frameBytes = 0;
  #isFinal = false;
  #isControl = false;
  /** A header that did not come in one piece. */
  #header: Buffer | undefined;
  readonly #onKept: (bytes: number) => void;

  /** @param onKept is called with the bytes that are kept, after each chunk that is not a whole short message. */
  constructor(onKept: (bytes: number) => void) {
    this.#onKept = onKept;
  }

  /** What is kept. */
  get heldBytes(): number {
    return this.#bytes + this.#overhead;
  }

  /** Takes what the socket brings, in this order and all of it: a listener of its event `data`. */
  readonly read = (chunk: Buffer): void => {
    // A short message that came alone and in one piece: nothing was kept before it, and nothing is after it.
    if (this.#bytes === 0 && chunk[1] === 0x80 + chunk.length - MASKED_HEADER && chunk.length < SHORT) {
      if ((chunk[0] as number) >= 0x80) return;
    }
    this.#follow(chunk);
    this.#onKept(this.heldBytes);
  };

  #follow(chunk: Buffer): void {
    this.#bytes += chunk.length;
    this.#overhead += READ_BYTES;
    let data = chunk;
    if (this.#header !== undefined) {
      data = Buffer.concat([this.#header, chunk]);
      this.#header = undefined;
    }
    for (let at = 0; at < data.length; ) {
      if (this.#left === 0 && !this.#readHeader(data, at)) {
        this.#header = Buffer.from(data.subarray(at));
        return;
      }
      const rest = data.length - at;
      if (rest < this.#left) {
        this.#left -= rest;
        return;
      }
      at += this.#left;
      this.#left = 0;
      this.#endFrame(data.length - at);
    }
  }

  /** False when not all of it is there. */
  #readHeader(data: Buffer, at: number): boolean {
    const there = data.length - at;
    if (there < 2) return false;
    const first = data[at] as number;
    const length = (data[at + 1] as number) & 0x7f;
    if (length < 126) this.#frameBytes = MASKED_HEADER + length;
    else if (length === 126 && there >= 4) this.#frameBytes = MASKED_HEADER + 2 + data.readUInt16BE(at + 2);
    else if (length === 127 && there >= 10) this.#frameBytes = LONGEST_HEADER + data.readUInt32BE(at + 6);
    else return false;
    this.#isFinal = (first & 0x80) !== 0;
    this.#isControl = (first & 0x08) !== 0;
    this.#left = this.#frameBytes;
    return true;
  }

  /** @param rest bytes that came after it. */
  #endFrame(rest: number): void {
    if (this.#isControl) {
      this.#bytes -= this.#frameBytes;
      if (this.#bytes === 0) this.#overhead = 0;
    } else if (this.#isFinal) {
      this.#bytes = rest;
      this.#overhead = rest > 0 ? READ_BYTES : 0;
    } else this.#overhead += FRAGMENT_BYTES;
  }
}
