const MASKED = 0x80;
const MASKED_HEADER = 6;
const LONGER_HEADER = 8;
const LONGEST_HEADER = 14;
const FINAL = 0x80;

/** The memory of a buffered read or fragment in addition to its content (measured with Node 20 on x64). */
const READ_BYTES = 400;
const FRAGMENT_BYTES = 192;

/**
 * Where a masked final frame of less than 64 KiB ends that begins at `at`; 0 for any other frame, and when its end is not
 * in the chunk.
 */
export function endOfFrame(chunk: Buffer, at: number): number {
  if ((chunk[at] as number) < FINAL) return 0;
  const length = (chunk[at + 1] ?? 0) - MASKED;
  let end = 0;
  if (length >= 0 && length < 126) end = at + MASKED_HEADER + length;
  else if (length === 126 && at + 4 <= chunk.length) end = at + LONGER_HEADER + chunk.readUInt16BE(at + 2);
  return end <= chunk.length ? end : 0;
}

/** Where the payload of such a frame begins. */
export function startOfPayload(chunk: Buffer, at: number): number {
  return at + (chunk[at + 1] === MASKED + 126 ? LONGER_HEADER : MASKED_HEADER);
}

/** Follows the headers of a client's frames, to compute how much of a message the receiver of `ws` keeps. */
export class MessageTracker {
  /** The bytes of the unfinished message, with the headers of its frames. */
  #bytes = 0;
  /** The overhead of its reads and fragments. */
  #overhead = 0;
  /** The missing bytes of the current frame, or 0 at its header. */
  #left = 0;
  #frameBytes = 0;
  #isFinal = false;
  #isControl = false;
  /** The start of a header that arrived in several pieces. */
  #header: Buffer | undefined;
  readonly #onKept: (bytes: number) => void;

  /** @param onKept is called with the kept bytes after each chunk. */
  constructor(onKept: (bytes: number) => void) {
    this.#onKept = onKept;
  }

  /** The bytes that are kept. */
  get heldBytes(): number {
    return this.#bytes + this.#overhead;
  }

  /** Must see every chunk after which something is kept, and every chunk while something is. */
  read(chunk: Buffer): void {
    this.#follow(chunk);
    this.#onKept(this.heldBytes);
  }

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

  /** Returns false when the header is incomplete. */
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

  /** @param rest number of bytes after the frame. */
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
