import { setTimeout as sleep } from "node:timers/promises";
import { SessionLostError } from "openenv-ts";
import { type RawData, WebSocket } from "ws";

interface Waiting {
  resolve(answer: string): void;
  reject(error: SessionLostError): void;
}

/** The largest accepted message, bytes. */
const MAX_MESSAGE_BYTES = 100 * 1024 * 1024;
const CLOSE_WAIT_MS = 2_000;
/** A process that ends closes its sockets before its end is seen, and that end is the better reason. */
const REASON_WAIT_MS = 1_000;

/** A session of an upstream: a WebSocket whose messages are answered in their order. */
export class UpstreamSocket {
  /** Why it ended before it was closed. */
  lost: string | undefined;
  /** Called once with that reason. */
  onLost: (reason: string) => void = () => {};
  readonly #ws: WebSocket;
  readonly #name: string;
  /** A session sends its messages one after the other, so these are few. */
  readonly #waiting: Waiting[] = [];
  #isClosed = false;

  constructor(ws: WebSocket, { name, ended }: { name: string; ended: Promise<string> }) {
    this.#ws = ws;
    this.#name = name;
    ws.on("message", (data: RawData) => this.#answer((data as Buffer).toString()));
    ws.on("close", (code, reason) => {
      const closed = `${name} closed the session (${code}${reason.length > 0 ? `: ${reason}` : ""})`;
      void Promise.race([ended, sleep(REASON_WAIT_MS, closed)]).then((why) => this.#lose(why));
    });
    // The close event has the reason.
    ws.on("error", () => {});
    void ended.then((reason) => this.#lose(reason));
  }

  /** Sends a message. Resolves with its answer; rejects with SessionLostError when the upstream has lost the session. */
  ask(text: string): Promise<string> {
    return new Promise((resolve, reject) => {
      if (this.lost !== undefined) return reject(new SessionLostError(this.lost));
      this.#waiting.push({ resolve, reject });
      // A buffer is masked and sent in one piece, a string in two.
      this.#ws.send(Buffer.from(text), { binary: false });
    });
  }

  /** Resolves when the upstream has closed its side. */
  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#ws.readyState === WebSocket.CLOSED) return;
    const closed = new Promise<void>((resolve) => this.#ws.once("close", () => resolve()));
    this.#ws.close(1000);
    await Promise.race([closed, sleep(CLOSE_WAIT_MS)]);
    this.#ws.terminate();
  }

  #answer(text: string): void {
    // The place in the queue, which a socket with views receives while it waits for its session.
    if (text.startsWith('{"type":"queued"')) return;
    const waiting = this.#waiting.shift();
    if (waiting !== undefined) waiting.resolve(text);
    else this.#lose(`${this.#name} sent a message that was no answer: ${text.slice(0, 200)}`);
  }

  #lose(reason: string): void {
    if (this.lost !== undefined) return;
    this.lost = reason;
    this.#ws.terminate();
    for (const one of this.#waiting.splice(0)) one.reject(new SessionLostError(reason));
    if (!this.#isClosed) this.onLost(reason);
  }
}

/** Opens a WebSocket. Rejects with an error that names the upstream. */
export function openWebSocket(url: string, { name, signal, timeoutMs, headers }: OpenOptions): Promise<WebSocket> {
  const ws = new WebSocket(url, {
    maxPayload: MAX_MESSAGE_BYTES,
    perMessageDeflate: false,
    handshakeTimeout: timeoutMs,
    headers,
  });
  return new Promise((resolve, reject) => {
    const fail = (why: string): void => {
      signal.removeEventListener("abort", onAbort);
      reject(Object.assign(new Error(`${name} opens no session at ${url}: ${why}`), { fault: "infrastructure" }));
      ws.on("error", () => {}).terminate();
    };
    const onAbort = (): void =>
      fail(String((signal.reason as Error | undefined)?.message ?? "it is not needed any more"));
    if (signal.aborted) return onAbort();
    signal.addEventListener("abort", onAbort);
    ws.once("error", ({ message }) => fail(message));
    ws.once("open", () => {
      signal.removeEventListener("abort", onAbort);
      ws.removeAllListeners("error");
      resolve(ws);
    });
  });
}

interface OpenOptions {
  name: string;
  signal: AbortSignal;
  timeoutMs: number;
  headers: Record<string, string>;
}
