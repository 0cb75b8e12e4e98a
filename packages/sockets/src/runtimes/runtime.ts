import type { EventEmitter } from "node:events";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import type { Backlog } from "../limits/backlog.js";
import type { RunQueue } from "../scheduling/run-queue.js";

/** Descriptors that a process has open before its first connection. */
export const DESCRIPTORS_AT_START = 28;
/** Length of the accept queue: bursts of thousands of connections are normal. The kernel caps it. */
export const LISTEN_BACKLOG = 65_535;

/** What a runtime does for the server: it listens, and passes on requests and WebSockets. One adapter each implements it. */
export interface ServerRuntime {
  readonly name: "Node" | "Bun" | "Deno";
  /** @throws the error of the system, such as `EADDRINUSE` for a port that is in use. */
  listen(server: ServerParts): Promise<Listener>;
}

export interface ServerParts {
  config: ListenOptions;
  context: { readonly descriptors: DescriptorGuard; readonly backlog: Backlog; readonly runQueue: RunQueue };
  /** Listens on a port that other processes share, and resolves with it. On Node alone. */
  listenShared?: ((server: Server) => Promise<number>) | undefined;
  /** Handles a request. Never rejects. */
  handle(request: HttpRequest, response: HttpResponse, how: RequestOrigin): Promise<void>;
  /** Handles a request for a WebSocket. */
  upgrade(upgrade: Upgrade): void;
}

interface ListenOptions {
  readonly host: string;
  /** 0 for a free one. */
  readonly port: number;
  readonly maxMessageBytes: number;
  readonly pingIntervalMs: number;
}

/** Keeps descriptors for what must still work when connections have taken all others. */
interface DescriptorGuard {
  /** True when there are too few for a request. `used` is the number of those in use. */
  areAlmostUsedUp(used: number): boolean;
  /** A connection could not be accepted. */
  countRejection(error: Error): void;
}

export interface Listener {
  readonly port: number;
  /** Stops accepting connections; existing ones are still served. */
  retire(): void;
  /** Closes all connections; resolves when that is done. */
  close(): Promise<void>;
  /** Takes over a socket that another process has passed on, on Node alone. */
  takeOver?(request: UpgradeRequest, socket: Duplex, head: Buffer): Upgrade;
}

export interface RequestOrigin {
  /** Forwarded by another process. */
  forwarded?: boolean;
  /** Its client did not wait for the previous answer. */
  isPipelined?: boolean;
}

/** The head of a request for a WebSocket. */
export type UpgradeRequest = Readonly<Pick<IncomingMessage, "method" | "url" | "headers">>;

/** A request, as `IncomingMessage` of Node has it. Iterates over its body. */
export type HttpRequest = UpgradeRequest & AsyncIterable<Uint8Array> & { readonly clientAddress?: string | undefined };

/** The answer to a request, as `ServerResponse` of Node has it; emits `close` when it is sent or its client is gone. */
export interface HttpResponse extends EventEmitter {
  readonly headersSent: boolean;
  readonly writableFinished: boolean;
  readonly destroyed: boolean;
  readonly closed: boolean;
  setHeader(name: string, value: string): unknown;
  writeHead(status: number, headers?: Record<string, string | number | string[]>): HttpResponse;
  flushHeaders(): void;
  write(chunk: string | Uint8Array): boolean;
  end(chunk?: string | Uint8Array): unknown;
  /** `latin1` for ASCII, which needs no conversion. */
  end(chunk: string | Uint8Array, encoding: "latin1" | "utf8"): unknown;
  destroy(): unknown;
}

/** A request for a WebSocket, which must be accepted or rejected. */
export interface Upgrade {
  readonly request: UpgradeRequest;
  /** The {@link clientAddress} of the request. */
  readonly address: string;
  /** File descriptors in use, at least. */
  readonly descriptors: number;
  /** Calls `open` with the socket once the handshake is done. */
  accept(options: AcceptOptions): void;
  /** Answers with an HTTP status, such as `403 Forbidden`, and a reason. */
  reject(status: string, reason: string): void;
  /** What can be passed on to another process, on Node alone; undefined when the client has gone. */
  readonly handle?: { request: UpgradeRequest; socket: Duplex; head: Buffer } | undefined;
}

export interface AcceptOptions {
  /** Headers of the answer. */
  headers: Record<string, string>;
  /** The subprotocol, one of those that the client offers. */
  protocol: string | undefined;
  /** The largest message, bytes. Larger ones close the socket with 1009. */
  maxBytes: number;
  /** Sets the peer of the socket. */
  open(socket: PeerSocket): void;
}

/** A message of at least 64 KiB in parts, which need not be copied into one buffer. */
export class MessageParts {
  readonly list: readonly Uint8Array[];
  readonly isText: boolean;
  /** Bytes. */
  readonly length: number;

  constructor(list: readonly Uint8Array[], isText: boolean) {
    this.list = list;
    this.isText = isText;
    this.length = list.reduce((sum, { length }) => sum + length, 0);
  }
}

/** One WebSocket. */
export interface PeerSocket {
  peer: SocketPeer;
  /** Does nothing when the socket is closing. */
  send(message: string | Uint8Array): void;
  /** Sends the parts as one message. Only Node gets parts of text. */
  sendParts(message: MessageParts): void;
  /** The bytes that were sent and that the system has not accepted, with the memory that holds them. */
  readonly untaken: number;
  /** Calls `drained` of the peer when the system has accepted all, or `stalled` when it takes nothing for `stallMs`. */
  awaitDrain(stallMs: number): void;
  /** Collects what is sent until `uncork`, where the runtime can. Calls `end(peer)` when this turn of the loop ends. */
  cork<P>(end: (peer: P) => void, peer: P): void;
  uncork(): void;
  /** What `send` sends is one write, where the runtime can. */
  together(send: () => void): void;
  /** False when the runtime cannot ping, or does not report pongs. */
  ping(): boolean;
  /** Does nothing where the runtime answers pings itself. */
  pong(payload: Uint8Array): void;
  /** False when the runtime cannot stop reading. */
  pause(): boolean;
  resume(): void;
  /** Starts the closing handshake. */
  close(code: number, reason?: string): void;
  /** Ends the connection at once, where the runtime can. */
  terminate(): void;
  /** False when `terminate` leaves unread answers in memory until the peer reads them or leaves. */
  readonly freesUnread: boolean;
  /** All bytes that were read; undefined where the runtime does not count them, and pings and drops silent peers itself. */
  readonly bytesRead: number | undefined;
  /** The bytes of an unfinished message, and those that are not read yet, where the runtime shows them. */
  readonly unfinishedBytes: number;
  readonly unreadBytes: number;
}

/** What a socket reports to the server. */
export interface SocketPeer {
  /** Text is a string where the runtime decodes it. */
  receive(message: Buffer | string, isBinary: boolean): void;
  /** Called for a ping that the runtime does not answer itself. */
  pinged(payload: Buffer): void;
  ponged(payload: Buffer): void;
  drained(): void;
  stalled(): void;
  /** An unfinished message has grown. */
  grew(bytes: number): void;
  /** The socket has closed. */
  gone(reason: string): void;
}

/** The runtime of this process. */
export async function loadRuntime(): Promise<ServerRuntime> {
  if ("Bun" in globalThis) return (await import("./bun.js")).BUN;
  if ("Deno" in globalThis) return (await import("./deno.js")).DENO;
  return (await import("./node.js")).NODE;
}

/** The address of the other end of the connection, which may be a proxy. */
export function clientAddress({ clientAddress: known, socket }: Connected): string {
  return known ?? socket?.remoteAddress ?? "unknown";
}

interface Connected extends Pick<HttpRequest, "clientAddress"> {
  readonly socket?: Pick<IncomingMessage["socket"], "remoteAddress">;
}

/** The same request and answer on Node, which alone has several processes behind one port. */
export function onNode({ request, response }: { request: HttpRequest; response: HttpResponse }) {
  return { request: request as IncomingMessage, response: response as ServerResponse };
}
