import { writeSync } from "node:fs";

/** The length of text that is written at once. */
const BLOCK = 15_000;
/** The length of waiting text beyond which lines are dropped, because the reader is slow. */
const MAX_WAITING = 4 * 1024 * 1024;
const RETRY_MS = 100;
/** The number of attempts (10 ms each) at the end of the process to write to a reader that does not read. */
const LAST_TRIES = 100;

/**
 * Writes lines to a file descriptor in blocks. A server does not wait for the reader of its log: a pipe must be
 * non-blocking, and lines that cannot be written are kept up to a limit and dropped beyond it. Not pino's own
 * destination: `flushSync` of sonic-boom 4.2.1 retries forever after EPIPE, so a process without a reader would not
 * exit.
 */
export class LogWriter {
  readonly #fd: number;
  #text = "";
  /** The unwritten rest of a block. */
  #rest: Buffer = Buffer.alloc(0);
  #retry: NodeJS.Timeout | undefined;

  constructor(fd: number) {
    this.#fd = fd;
  }

  write(line: string): void {
    if (this.#text.length > MAX_WAITING) return;
    this.#text += line;
    if (this.#text.length >= BLOCK) this.flush();
  }

  flush(): void {
    if (this.#retry || this.#writeAll()) return;
    this.#retry = setTimeout(() => {
      this.#retry = undefined;
      this.flush();
    }, RETRY_MS);
    this.#retry.unref();
  }

  /** Writes at the end of a process. Always returns, also when there is no reader or it does not read. */
  flushSync(): void {
    let left = Infinity;
    for (let tries = LAST_TRIES; tries > 0 && !this.#writeAll(); tries--) {
      if (this.#rest.byteLength < left) tries = LAST_TRIES;
      left = this.#rest.byteLength;
      Atomics.wait(SLEEP, 0, 0, 10);
    }
  }

  /** Writes all waiting text. Returns false when the pipe is full. */
  #writeAll(): boolean {
    try {
      while (this.#rest.byteLength > 0 || this.#text !== "") {
        // New text follows only after the rest: together they would exceed the limit.
        if (this.#rest.byteLength === 0) {
          this.#rest = Buffer.from(this.#text);
          this.#text = "";
        }
        this.#rest = this.#rest.subarray(writeSync(this.#fd, this.#rest));
      }
    } catch (error) {
      if (isBusy(error)) return false;
      this.#rest = Buffer.alloc(0);
    }
    return true;
  }
}

const SLEEP = new Int32Array(new SharedArrayBuffer(4));

function isBusy(error: unknown): boolean {
  const code = (error as NodeJS.ErrnoException | null)?.code;
  return code === "EAGAIN" || code === "EBUSY";
}
