import type { IncomingHttpHeaders } from "node:http";
import { Writable } from "node:stream";
import { ConfigError } from "../../errors.js";
import { selectSubprotocol } from "../access/authorization.js";
import type { Config } from "../config/config.js";
import type { HttpRequest, HttpResponse, PeerSocket } from "./runtime.js";

/** What Bun and Deno share: their servers pass a `Request` of the web and expect a `Response`. */

const POLL_MS = 50;

/** @throws ConfigError for a setting that neither Bun nor Deno can keep. */
export function refuseWorkers({ workers, supervise }: Config, runtime: string): void {
  if (workers === 1 && !supervise) return;
  const setting = workers === 1 ? "supervise is true" : `WORKERS is ${workers}`;
  throw new ConfigError(
    `${setting}, but a server on ${runtime} is one process: set it to ${workers === 1 ? "false" : "1"}, and start several ` +
      "servers behind a balancer: openenv deploy renders the configuration of HAProxy.",
  );
}

/** @throws ConfigError for a memory limit of threads, which the runtime ignores or does not survive. */
export function refuseThreadMemory({ isolation }: Config, runtime: string): void {
  if (isolation?.kind !== "thread" || isolation.isolateMemoryMb === undefined) return;
  throw new ConfigError(
    `ISOLATE_MEMORY_MB is ${isolation.isolateMemoryMb}, but ${runtime} does not keep a memory limit of threads: set ` +
      "ISOLATION to process, or remove the limit.",
  );
}

export function wantsWebSocket({ headers }: Request): boolean {
  return headers.get("upgrade")?.toLowerCase() === "websocket";
}

/** The subprotocol of an answer; none is selected for a client without a token. */
export function subprotocol({ headers }: Request): string | undefined {
  const offered = headers.get("sec-websocket-protocol")?.split(",") ?? [];
  return selectSubprotocol(new Set(offered.map((name) => name.trim()))) || undefined;
}

export function rejection(status: string, reason: string): Response {
  const code = Number(status.slice(0, 3));
  const scheme = code === 401 ? { "www-authenticate": "Bearer" } : {};
  const headers = { connection: "close", "content-type": "text/plain", ...scheme };
  return new Response(reason, { status: code, headers });
}

export class FetchRequest implements HttpRequest {
  readonly method: string;
  /** Without the origin. */
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly #body: AsyncIterable<Uint8Array> | null;
  readonly #onRead: () => void;

  /** @param onRead is called when the body has been read, at once if there is none. */
  constructor({ method, url, headers, body }: Request, onRead: () => void = () => {}) {
    this.method = method;
    // Bun adds no origin for a request without `Host`.
    this.url = url.startsWith("/") ? url : url.slice(url.indexOf("/", url.indexOf("://") + 3));
    this.headers = Object.fromEntries(headers as unknown as Iterable<[string, string]>);
    this.#body = body as AsyncIterable<Uint8Array> | null;
    this.#onRead = onRead;
    if (body === null) onRead();
  }

  async *iterator(): AsyncGenerator<Uint8Array> {
    if (this.#body !== null) yield* this.#body;
    this.#onRead();
  }

  [Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    return this.iterator();
  }
}

/** An answer that is one piece needs no stream. */
export class FetchResponse extends Writable implements HttpResponse {
  /** Resolves as soon as the head of the answer is known. */
  readonly answer: Promise<Response>;
  headersSent = false;
  readonly #headers: Record<string, string> = {};
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

  writeHead(status: number, headers: Record<string, string | number> = {}): this {
    this.#status = status;
    for (const [name, value] of Object.entries(headers)) this.#headers[name] = String(value);
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
    this.#send(new Response(body as BodyInit, { status: this.#status, headers: this.#headers }));
  }
}

const ended: [(peer: never) => void, unknown][] = [];

/** Calls `end(peer)` once this turn of the event loop has handled what it read. One immediate serves all peers. */
export function atEndOfTurn<P>(end: (peer: P) => void, peer: P): void {
  if (ended.push([end, peer]) === 1) setImmediate(endTurn);
}

function endTurn(): void {
  for (const [end, peer] of ended.splice(0)) end(peer as never);
}

/** As {@link PeerSocket.awaitDrain}, for a runtime that only shows how much waits. */
export function pollDrain(socket: PeerSocket, stallMs: number): void {
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
