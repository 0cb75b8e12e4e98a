import { Buffer } from "node:buffer";
import { CLOSE, reasonOf } from "../close-codes.js";
import type { Backlog } from "../limits/backlog.js";
import { FetchRequest, FetchResponse, FetchSocket, idleSeconds, rejection, wantsWebSocket } from "./fetch.js";
import {
  type AcceptOptions,
  DESCRIPTORS_AT_START,
  type Listener,
  type ServerParts,
  type ServerRuntime,
  type Upgrade,
} from "./runtime.js";

/** The codes that Node has for errors of Deno. */
const CODES: Record<string, string> = {
  AddrInUse: "EADDRINUSE",
  AddrNotAvailable: "EADDRNOTAVAIL",
  PermissionDenied: "EACCES",
};

/** Below this size of sent data, Deno is not asked for `bufferedAmount`: the call is slow. Bytes or characters. */
const UNASKED = 16 * 1024;

/** Deno: `Deno.serve` and `Deno.upgradeWebSocket`. Deno sends pings and answers them; it shows neither pings nor pongs. */
export const DENO: ServerRuntime = {
  name: "Deno",
  async listen({ config, context, handle, upgrade }: ServerParts): Promise<Listener> {
    const { host: hostname, port } = config;
    const stop = new AbortController();
    const open = { requests: 0, sockets: 0 };
    // Deno sends a ping after half of this time, and closes a peer that is silent for all of it: two missed pings.
    const idleTimeout = idleSeconds(config.pingIntervalMs);
    const server = listen({ hostname, port, signal: stop.signal, onListen() {} }, (request, { remoteAddr }) => {
      if (wantsWebSocket(request)) {
        const how = { idleTimeout, open, backlog: context.backlog, address: remoteAddr.hostname ?? "unknown" };
        return new Promise((resolve) => upgrade(new DenoUpgrade(request, how, resolve)));
      }
      const response = new FetchResponse();
      // Without --unstable-no-legacy-abort Deno also aborts after the answer, when that does nothing, and says so once.
      request.signal.addEventListener("abort", () => response.destroy());
      open.requests++;
      response.once("close", () => open.requests--);
      void handle(new FetchRequest(request, () => remoteAddr.hostname), response, {});
      return response.answer;
    });
    return {
      port: server.addr.port,
      retire: () => void server.shutdown(),
      async close() {
        stop.abort();
        await server.finished;
      },
    };
  },
};

function listen(options: DenoOptions, handler: Handler): DenoServer {
  try {
    return deno().serve(options, handler);
  } catch (error) {
    const { name, message } = error as Error;
    throw Object.assign(new Error(message), { code: CODES[name] });
  }
}

class DenoUpgrade implements Upgrade {
  readonly request: FetchRequest;
  readonly #request: Request;
  readonly #how: UpgradeParts;
  readonly #answer: (response: Response) => void;

  constructor(request: Request, how: UpgradeParts, answer: (response: Response) => void) {
    this.request = new FetchRequest(request);
    this.#request = request;
    this.#how = how;
    this.#answer = answer;
  }

  get address(): string {
    return this.#how.address;
  }

  get descriptors(): number {
    const { requests, sockets } = this.#how.open;
    return DESCRIPTORS_AT_START + requests + sockets;
  }

  accept({ headers, protocol, maxBytes, open }: AcceptOptions): void {
    const { idleTimeout, open: counts, backlog } = this.#how;
    // Deno cannot end the connection of a peer that reads nothing, so the memory that it holds may never be freed.
    if (backlog.isFull)
      return this.reject("503 Service Unavailable", "too much data waits for peers that do not read it");
    try {
      const { socket: ws, response } = deno().upgradeWebSocket(this.#request, { idleTimeout });
      // Deno's own option for it knows only lists with a space after each comma.
      if (protocol !== undefined) response.headers.set("sec-websocket-protocol", protocol);
      for (const [name, value] of Object.entries(headers)) response.headers.set(name, value);
      counts.sockets++;
      const socket = new DenoSocket(ws, maxBytes);
      ws.addEventListener("open", () => open(socket));
      ws.addEventListener("close", () => counts.sockets--);
      this.#answer(response);
    } catch {
      this.#answer(rejection("400", "not a WebSocket handshake"));
    }
  }

  reject(status: string, reason: string): void {
    this.#answer(rejection(status, reason));
  }
}

class DenoSocket extends FetchSocket {
  readonly freesUnread = false;
  readonly #ws: WebSocket;
  /** Sent since the system had accepted all, bytes or characters. */
  #sent = 0;
  /** What waited when it was closed: from then on Deno shows 0. */
  #leftOver = 0;

  constructor(ws: WebSocket, maxBytes: number) {
    super();
    this.#ws = ws;
    ws.binaryType = "arraybuffer";
    let isTooLarge = false;
    ws.addEventListener("message", ({ data }: MessageEvent<string | ArrayBuffer>) => {
      const isText = typeof data === "string";
      isTooLarge = isText ? isLonger(data, maxBytes) : data.byteLength > maxBytes;
      if (isTooLarge) this.close(CLOSE.tooLarge);
      else this.peer.receive(isText ? data : Buffer.from(data), !isText);
    });
    ws.addEventListener("close", ({ code }: { code: number }) => {
      this.#leftOver = 0;
      this.peer?.gone(reasonOf(isTooLarge ? CLOSE.tooLarge : code));
    });
    // The close event follows.
    ws.addEventListener("error", (event) => event.preventDefault());
  }

  send(message: string | Uint8Array): void {
    if (this.#ws.readyState !== WebSocket.OPEN) return;
    this.#sent += message.length;
    this.#ws.send(message as string);
  }

  get untaken(): number {
    if (this.#ws.readyState !== WebSocket.OPEN) return this.#leftOver;
    if (this.#sent < UNASKED) return 0;
    const untaken = this.#ws.bufferedAmount;
    if (untaken === 0) this.#sent = 0;
    return untaken;
  }

  ping(): boolean {
    return false;
  }

  close(code: number, reason?: string): void {
    this.#leftOver = this.untaken;
    this.#ws.close(code, reason);
  }

  /** The connection ends when all that was sent before is read. */
  terminate(): void {
    this.#leftOver = this.untaken;
    this.#ws.close();
  }
}

function isLonger(text: string, maxBytes: number): boolean {
  return text.length * 3 > maxBytes && Buffer.byteLength(text) > maxBytes;
}

interface UpgradeParts {
  idleTimeout: number;
  open: Open;
  backlog: Backlog;
  address: string;
}

interface Open {
  requests: number;
  sockets: number;
}

/** What is used of Deno's types. */
type Handler = (request: Request, info: { readonly remoteAddr: { readonly hostname?: string } }) => Promise<Response>;

interface Deno {
  serve(options: DenoOptions, handler: Handler): DenoServer;
  upgradeWebSocket(request: Request, options: { idleTimeout: number }): { socket: WebSocket; response: Response };
}

interface DenoServer {
  readonly addr: { port: number };
  readonly finished: Promise<void>;
  shutdown(): Promise<void>;
}

interface DenoOptions {
  hostname: string;
  port: number;
  signal: AbortSignal;
  onListen(): void;
}

function deno(): Deno {
  return (globalThis as unknown as { Deno: Deno }).Deno;
}
