import type { IncomingHttpHeaders } from "node:http";
import { Writable } from "node:stream";
import type { HttpRequest, HttpResponse, MessageParts, PeerSocket, SocketPeer } from "./runtime.js";

/** What Bun and Deno share: their servers pass a `Request` of the web and expect a `Response`. */

const POLL_MS = 50;

/** The time without a byte that shows that two pings were missed, seconds. */
export function idleSeconds(pingIntervalMs: number): number {
  return Math.ceil((pingIntervalMs / 1000) * 2);
}

export function wantsWebSocket({ headers }: Request): boolean {
  return headers.get("upgrade")?.toLowerCase() === "websocket";
}

export function rejection(status: string, reason: string): Response {
  const code = Number(status.slice(0, 3));
  const scheme = code === 401 ? { "www-authenticate": "Bearer" } : {};
  const headers = { connection: "close", "content-type": "text/plain", ...scheme };
  return new Response(reason, { status: code, headers });
}

function toObject(this: Headers): Record<string, string> {
  return Object.fromEntries(this as unknown as Iterable<[string, string]>);
}

export class FetchRequest implements HttpRequest {
  readonly method: string;
  /** The URL without the origin. */
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly #clientAddress: () => string | undefined;
  readonly #body: AsyncIterable<Uint8Array> | null;
  readonly #onRead: () => void;

  /** @param onRead is called when the body has been read, at once if there is none. */
  constructor(
    { method, url, headers, body }: Request,
    clientAddress: () => string | undefined = () => undefined,
    onRead: () => void = () => {},
  ) {
    this.#clientAddress = clientAddress;
    this.method = method;
    // Bun adds no origin for a request without `Host`.
    this.url = url.startsWith("/") ? url : url.slice(url.indexOf("/", url.indexOf("://") + 3));
    // Only Bun has `toJSON`, which is faster.
    const { toJSON = toObject } = headers as { toJSON?(this: Headers): Record<string, string> };
    this.headers = toJSON.call(headers);
    this.#body = body as AsyncIterable<Uint8Array> | null;
    this.#onRead = onRead;
    if (body === null) onRead();
  }

  get clientAddress(): string | undefined {
    return this.#clientAddress();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    if (this.#body !== null) yield* this.#body;
    this.#onRead();
  }
}

/** An answer that is one piece needs no stream. */
export class FetchResponse extends Writable implements HttpResponse {
  /** Resolves as soon as the head of the answer is known. */
  readonly answer: Promise<Response>;
  headersSent = false;
  readonly #headers: Record<string, string> = {};
  /** A header that is sent several times, as `set-cookie` may be. */
  readonly #repeated: [name: string, values: string[]][] = [];
  #status = 200;
  #send!: (response: Response) => void;
  #body: ReadableStreamDefaultController<Uint8Array> | undefined;
  #onPull: (() => void) | undefined;

  constructor() {
    super();
    this.answer = new Promise((resolve) => {
      this.#send = resolve;
    });
    this.on("error", () => {});
  }

  setHeader(name: string, value: string): void {
    this.#headers[name] = value;
  }

  writeHead(status: number, headers: Record<string, string | number | string[]> = {}): this {
    this.#status = status;
    for (const [name, value] of Object.entries(headers)) {
      if (Array.isArray(value)) this.#repeated.push([name, value]);
      else this.#headers[name] = String(value);
    }
    return this;
  }

  flushHeaders(): void {
    if (this.headersSent) return;
    const start = (body: ReadableStreamDefaultController<Uint8Array>): void => {
      this.#body = body;
    };
    const pull = (): void => {
      const taken = this.#onPull;
      this.#onPull = undefined;
      taken?.();
    };
    this.#sendHead(new ReadableStream({ start, pull, cancel: () => void this.destroy() }));
  }

  override write(chunk: string | Uint8Array): boolean {
    this.flushHeaders();
    return super.write(chunk);
  }

  override end(chunk?: unknown): this {
    if (this.headersSent) return super.end(chunk);
    this.#sendHead((chunk as string | Uint8Array | undefined) ?? null);
    return super.end();
  }

  override _write(chunk: Buffer, _encoding: string, taken: () => void): void {
    this.#body?.enqueue(chunk);
    if ((this.#body?.desiredSize ?? 1) > 0) taken();
    else this.#onPull = taken;
  }

  override _final(done: () => void): void {
    this.#body?.close();
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    // A connection cannot be closed without an answer.
    if (!this.headersSent) this.writeHead(503, { connection: "close" }).#sendHead(null);
    else if (!this.writableFinished) {
      try {
        this.#body?.error(new Error("the answer was not completed"));
      } catch {}
    }
    done(error);
  }

  #sendHead(body: string | Uint8Array | ReadableStream | null): void {
    this.headersSent = true;
    const response = new Response(body as BodyInit, { status: this.#status, headers: this.#headers });
    for (const [name, values] of this.#repeated) for (const value of values) response.headers.append(name, value);
    this.#send(response);
  }
}

/** A socket of a runtime that reads as long as its peer sends, answers pings, and drops silent peers itself. */
export abstract class FetchSocket implements PeerSocket {
  peer!: SocketPeer;
  abstract readonly freesUnread: boolean;
  abstract readonly untaken: number;
  abstract send(message: string | Uint8Array): void;
  abstract ping(): boolean;
  abstract close(code: number, reason?: string): void;
  abstract terminate(): void;

  sendParts(message: MessageParts): void {
    this.send(join(message));
  }

  awaitDrain(stallMs: number): void {
    pollDrain(this, stallMs);
  }

  cork<P>(end: (peer: P) => void, peer: P): void {
    atEndOfTurn(end, peer);
  }

  uncork(): void {}

  together(send: () => void): void {
    send();
  }

  pong(): void {}

  pause(): boolean {
    return false;
  }

  resume(): void {}

  get bytesRead(): undefined {
    return undefined;
  }

  get unfinishedBytes(): number {
    return 0;
  }

  get unreadBytes(): number {
    return 0;
  }
}

const ended: [(peer: never) => void, unknown][] = [];

/** Calls `end(peer)` once this turn of the event loop has handled what it read. One immediate serves all peers. */
function atEndOfTurn<P>(end: (peer: P) => void, peer: P): void {
  if (ended.push([end, peer]) === 1) setImmediate(endTurn);
}

function endTurn(): void {
  for (const [end, peer] of ended.splice(0)) end(peer as never);
}

/** Does the same as {@link PeerSocket.awaitDrain} for a runtime that only shows how much waits. */
function pollDrain(socket: PeerSocket, stallMs: number): void {
  let before = socket.untaken;
  let takenAt = performance.now();
  const timer = setInterval(() => {
    const { untaken } = socket;
    if (untaken < before) takenAt = performance.now();
    before = untaken;
    if (untaken > 0 && performance.now() - takenAt < stallMs) return;
    clearInterval(timer);
    if (untaken > 0) socket.peer.stalled();
    else socket.peer.drained();
  }, POLL_MS);
}

/** Holds one message in parts until it is sent: these runtimes copy it, and collect new arrays of its size too often. */
let joined = new Uint8Array();
/** Larger messages get an array of their own. */
const JOINED_BYTES = 4 * 1024 * 1024;

function join({ list, length }: MessageParts): Uint8Array {
  if (length > JOINED_BYTES) return Buffer.concat(list, length);
  if (joined.length === 0) joined = new Uint8Array(JOINED_BYTES);
  let at = 0;
  for (const part of list) {
    joined.set(part, at);
    at += part.length;
  }
  return joined.subarray(0, length);
}
