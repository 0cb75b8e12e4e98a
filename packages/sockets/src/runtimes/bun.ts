import { CLOSE, reasonOf } from "../close-codes.js";
import { FetchRequest, FetchResponse, FetchSocket, idleSeconds, rejection, wantsWebSocket } from "./fetch.js";
import {
  type AcceptOptions,
  DESCRIPTORS_AT_START,
  type Listener,
  type ServerParts,
  type ServerRuntime,
  type Upgrade,
} from "./runtime.js";

/** Requests that are handled in one turn of the event loop, about 20 ms. */
const MAX_IN_TURN = 256;
/** Seconds without a byte after which a connection that sends a request is closed. */
const REQUEST_IDLE_S = 10;
/** Bun drops or closes with more unread data. Answers never reach it; pongs of a peer that reads nothing could. */
const MAX_UNREAD = 512 * 1024 * 1024;
/** Unread data at which a peer that keeps sending pings is closed. */
const MAX_UNREAD_PONGS = 4 * 1024 * 1024;

/** What Bun returns for a message that it keeps until the peer reads. */
const BACKPRESSURE = -1;
/** What Bun reports for a message above `maxPayloadLength`, after it has closed the socket with 1009. */
const TOO_BIG = "Received too big message";

/** Bun: `Bun.serve`. It reads as long as peers send, so more waiting frames than the limit close a WebSocket. */
export const BUN: ServerRuntime = {
  name: "Bun",
  async listen({ config, handle, upgrade }: ServerParts): Promise<Listener> {
    const { host: hostname, port, maxMessageBytes, pingIntervalMs } = config;
    const isCrowded = countTurns();
    const server = bun().serve({
      hostname,
      port,
      development: false,
      idleTimeout: REQUEST_IDLE_S,
      // The body of a request is counted while it is read.
      maxRequestBodySize: Number.MAX_SAFE_INTEGER,
      fetch(request, self) {
        if (wantsWebSocket(request)) {
          return new Promise((resolve) => upgrade(new BunUpgrade(request, self, resolve)));
        }
        const response = new FetchResponse();
        request.signal.addEventListener("abort", () => response.destroy(), { once: true });
        // The limit ends when the request has been read: a step may take long, and a stream can be silent.
        const address = (): string | undefined => self.requestIP(request)?.address;
        const read = new FetchRequest(request, address, () => self.timeout(request, 0));
        void handle(read, response, { isPipelined: isCrowded() });
        return response.answer;
      },
      websocket: {
        maxPayloadLength: maxMessageBytes,
        // Bun pings before the time is over, and closes without an answer. Each byte of an unfinished frame counts.
        idleTimeout: idleSeconds(pingIntervalMs),
        sendPings: true,
        backpressureLimit: MAX_UNREAD,
        closeOnBackpressureLimit: true,
        perMessageDeflate: false,
        open(ws) {
          ws.data.socket = new BunSocket(ws);
          ws.data.open(ws.data.socket);
        },
        message({ data: { socket, maxBytes } }, message) {
          if (message.length > maxBytes) socket.close(CLOSE.tooLarge);
          else socket.peer.receive(message, typeof message !== "string");
        },
        ping(ws) {
          if (ws.getBufferedAmount() > MAX_UNREAD_PONGS) ws.close(CLOSE.policy, "pongs are not read");
        },
        pong: ({ data }, payload) => data.socket.peer.ponged(payload),
        close({ data }, code, reason) {
          // Later: Bun calls this within close() and terminate(), and callers expect the event of another turn.
          queueMicrotask(() => data.socket.peer.gone(reasonOf(reason === TOO_BIG ? CLOSE.tooLarge : code)));
        },
      },
    });
    return {
      port: server.port,
      retire: () => void server.stop(),
      close: () => server.stop(true),
    };
  },
};

/**
 * Returns a function that is true once so many requests came in this turn of the event loop that they take turns. Bun
 * does not say whether a client has waited for its previous answer, and begins all requests of a read.
 */
function countTurns(): () => boolean {
  let count = 0;
  const endTurn = (): void => void (count = 0);
  return () => {
    if (count === 0) setImmediate(endTurn);
    return ++count > MAX_IN_TURN;
  };
}

class BunUpgrade implements Upgrade {
  readonly request: FetchRequest;
  readonly #request: Request;
  readonly #server: BunServer;
  readonly #answer: (response: Response | undefined) => void;

  constructor(request: Request, server: BunServer, answer: (response: Response | undefined) => void) {
    this.request = new FetchRequest(request);
    this.#request = request;
    this.#server = server;
    this.#answer = answer;
  }

  get address(): string {
    return this.#server.requestIP(this.#request)?.address ?? "unknown";
  }

  get descriptors(): number {
    return DESCRIPTORS_AT_START + this.#server.pendingRequests + this.#server.pendingWebSockets;
  }

  accept({ headers, protocol = "", maxBytes, open }: AcceptOptions): void {
    const data: SocketData = { open, maxBytes, socket: undefined as never };
    // Bun selects the first one that is offered, which may be a token, unless there is a header.
    const all = { ...headers, "sec-websocket-protocol": protocol };
    const isOpen = this.#server.upgrade(this.#request, { headers: all, data });
    this.#answer(isOpen ? undefined : rejection("400", "not a WebSocket handshake"));
  }

  reject(status: string, reason: string): void {
    this.#answer(rejection(status, reason));
  }
}

class BunSocket extends FetchSocket {
  readonly freesUnread = true;
  readonly #ws: ServerWebSocket;
  /** Data may wait for the peer to read it. */
  #waits = false;

  constructor(ws: ServerWebSocket) {
    super();
    this.#ws = ws;
  }

  send(message: string | Uint8Array): void {
    if (this.#ws.send(message) === BACKPRESSURE) this.#waits = true;
  }

  get untaken(): number {
    const untaken = this.#waits ? this.#ws.getBufferedAmount() : 0;
    this.#waits = untaken > 0;
    return untaken;
  }

  ping(): boolean {
    this.#ws.ping();
    return true;
  }

  close(code: number, reason?: string): void {
    this.#ws.close(code, reason);
  }

  terminate(): void {
    this.#ws.terminate();
  }
}

interface SocketData {
  open: AcceptOptions["open"];
  maxBytes: number;
  socket: BunSocket;
}

/** What is used of Bun's types. */
interface Bun {
  serve(options: BunOptions): BunServer;
}

interface BunServer {
  readonly port: number;
  readonly pendingRequests: number;
  readonly pendingWebSockets: number;
  timeout(request: Request, seconds: number): void;
  requestIP(request: Request): { readonly address: string } | null;
  upgrade(request: Request, options: { headers: Record<string, string>; data: SocketData }): boolean;
  stop(closeActiveConnections?: boolean): Promise<void>;
}

interface ServerWebSocket {
  readonly data: SocketData;
  send(message: string | Uint8Array): number;
  getBufferedAmount(): number;
  ping(): number;
  close(code?: number, reason?: string): void;
  terminate(): void;
}

interface BunOptions {
  hostname: string;
  port: number;
  development: boolean;
  idleTimeout: number;
  maxRequestBodySize: number;
  fetch(request: Request, server: BunServer): Promise<Response | undefined>;
  websocket: {
    maxPayloadLength: number;
    idleTimeout: number;
    sendPings: boolean;
    backpressureLimit: number;
    closeOnBackpressureLimit: boolean;
    perMessageDeflate: boolean;
    open(ws: ServerWebSocket): void;
    message(ws: ServerWebSocket, message: string | Buffer): void;
    ping(ws: ServerWebSocket): void;
    pong(ws: ServerWebSocket, payload: Buffer): void;
    close(ws: ServerWebSocket, code: number, reason: string): void;
  };
}

function bun(): Bun {
  return (globalThis as unknown as { Bun: Bun }).Bun;
}
