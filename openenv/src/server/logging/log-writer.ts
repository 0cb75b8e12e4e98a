import { write, writeSync } from "node:fs";

/** Text that makes a block worth writing. */
const BLOCK = 15_000;
/** Text that waits for a slow reader beyond which lines are dropped. */
const MAX_WAITING = 4 * 1024 * 1024;
const RETRY_MS = 100;
/** Tries at the end, when nobody can wait for the reader. */
const LAST_TRIES = 50;

/**
 * Writes lines to a file descriptor in blocks. What cannot be written is dropped: a server does not stop, and does not
 * wait, for the reader of its log. Not pino's own destination: `flushSync` of sonic-boom 4.2.1 retries without end
 * after EPIPE, so a process whose reader has gone would not exit.
 */
export class LogWriter {
  readonly #fd: number;
  #text = "";
  #writing = false;
  /** What is left of a block that the reader had no room for. */
  #rest: Buffer = Buffer.alloc(0);

  constructor(fd: number) {
    this.#fd = fd;
  }

  write(line: string): void {
    if (this.#text.length > MAX_WAITING) return;
    this.#text += line;
    if (this.#text.length >= BLOCK) this.flush();
  }

  flush(): void {
    if (this.#writing || this.#text === "") return;
    this.#writing = true;
    this.#send(this.#take());
  }

  /** For the end of a process. Always returns, also when the reader has gone or takes nothing. */
  flushSync(): void {
    let block = Buffer.concat([this.#rest, this.#take()]);
    this.#rest = Buffer.alloc(0);
    for (let tries = LAST_TRIES; block.byteLength > 0 && tries > 0; ) {
      try {
        block = block.subarray(writeSync(this.#fd, block));
      } catch (error) {
        if (!isBusy(error)) return;
        tries--;
        Atomics.wait(SLEEP, 0, 0, 10);
      }
    }
  }

  #send(block: Buffer): void {
    write(this.#fd, block, (error, written) => {
      const rest = block.subarray(error === null ? written : 0);
      if (isBusy(error)) {
        this.#rest = rest;
        setTimeout(() => this.#retry(), RETRY_MS).unref();
      } else if (error === null && rest.byteLength > 0) this.#send(rest);
      else {
        this.#writing = false;
        if (this.#text.length >= BLOCK) this.flush();
      }
    });
  }

  #retry(): void {
    const rest = this.#rest;
    this.#rest = Buffer.alloc(0);
    this.#send(rest.byteLength > 0 ? rest : this.#take());
  }

  #take(): Buffer {
    const block = Buffer.from(this.#text);
    this.#text = "";
    return block;
  }
}

const SLEEP = new Int32Array(new SharedArrayBuffer(4));

function isBusy(error: unknown): boolean {
  const code = (error as NodeJS.ErrnoException | null)?.code;
  return code === "EAGAIN" || code === "EBUSY";
}
