import { isUtf8 } from "node:buffer";
import { createServer, type IncomingMessage, type Server, ServerResponse } from "node:http";
import { type AddressInfo, Server as NetServer, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { WebSocket, WebSocketServer } from "ws";
import { ConfigError } from "../../errors.js";
import { CLOSE_CODES } from "../../protocol/messages.js";
import { selectSubprotocol } from "../access/authorization.js";
import type { UpgradeRequest } from "../cluster.js";
import type { Config } from "../config/config.js";
import { LISTEN_BACKLOG, listenProblem } from "../lifecycle/listen-problem.js";
import { Openings } from "../limits/openings.js";
import { frameOf, largeFrameHeader, TEXT, textFrameHeader, unmask } from "./frames.js";
import { prepareLargeBuffers } from "./large-buffers.js";
import { endOfFrame, MessageTracker, startOfPayload } from "./message-tracker.js";
import { ignoreUpgrade, wantsWebSocket } from "./other-upgrade.js";
import { Pipeline } from "./pipeline.js";
import { rejectUpgrade } from "./reject-upgrade.js";
import type {
  AcceptOptions,
  Listener,
  MessageParts,
  PeerSocket,
  ServerParts,
  ServerRuntime,
  SocketPeer,
  Upgrade,
} from "./runtime.js";
import { type FirstReader, replaceParts } from "./ws-parts.js";

/**
 * The smallest average size of the pieces of a message, apart from a few smaller ones: each buffered piece needs some
 * 400 bytes in addition to its content. Packets of ordinary networks are larger.
 */
const MIN_PIECE = 1024;
const MIN_PIECES = 1024;
/** Up to this size, answers and unread data are not counted individually, bytes. */
const SMALL = 4 * 1024;
/** The memory of a waiting answer in addition to its content (measured with Node 20 on x64). */
const ANSWER_BYTES = 512;
/** The size in bytes from which payloads are not copied into one buffer with their header. */
const LARGE = 16 * 1024;

/** Node: `node:http`, and `ws` for WebSockets. */
export const NODE: ServerRuntime = {
  name: "Node",
  check() {},
  async listen({ config, cluster, ...parts }: ServerParts): Promise<Listener> {
    prepareLargeBuffers();
    const { descriptors } = parts.context;
    const server = createNodeServer(parts);
    const port = await (cluster === undefined ? listen(server, config) : cluster.listen(server, config.host));
    // Errors of connections that could not be accepted; there is no other listener.
    server.on("error", (error) => descriptors.countRejection(error));
    return {
      port,
      // close() of an HTTP server also ends idle connections, on which a request may be arriving.
      retire: () => void NetServer.prototype.close.call(server),
      close() {
        const closed = new Promise<void>((resolve) => server.close(() => resolve()));
        server.closeAllConnections();
        // If a socket was passed on, Node emits "close" only after the processes that received it have ended.
        return cluster === undefined ? closed : Promise.resolve();
      },
      takeOver: (...handed) => new NodeUpgrade(...handed),
    };
  },
};

/** A server that does not listen yet. */
export function createNodeServer({ context, handle, upgrade }: Omit<ServerParts, "config" | "cluster">): Server {
  const { descriptors, backlog, runQueue } = context;
  const openings = new Openings();
  const server = createServer({ noDelay: true, ServerResponse: NodeResponse }, (request, response) => {
    const pipeline = Pipeline.of(request.socket, backlog);
    const answered = (): void => pipeline.answered(response);
    pipeline.enter(response, (isPipelined) => void handle(request, response, { isPipelined }).then(answered));
  });
  server.on("connection", (socket: Socket) => {
    openings.accepted();
    if (descriptors.areAlmostUsedUp(descriptorOf(socket))) socket.destroy();
  });
  server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    if (!wantsWebSocket(request)) return ignoreUpgrade(server, request, { socket, head, runQueue });
    // The message itself is not kept, as it has four times the size and would be kept while the socket waits.
    const { method, url, headers } = request;
    const wanted = new NodeUpgrade({ method, url, headers }, socket, head);
    openings.add(() => upgrade(wanted));
  });
  return server;
}

class NodeResponse extends ServerResponse {
  /** A body of known length is one write. Node would add an empty one, and a list of two costs half as much again. */
  override end(...given: unknown[]): this {
    const [chunk, encoding] = given;
    if (typeof chunk !== "string" || typeof encoding !== "string" || !this.headersSent || this.chunkedEncoding) {
      return super.end(...(given as []));
    }
    this.write(chunk, encoding as BufferEncoding);
    this.socket?.uncork();
    return super.end();
  }
}

function listen(server: Server, { host, port }: Config): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => reject(new ConfigError(listenProblem(error, host, port))));
    server.listen(port, host, LISTEN_BACKLOG, () => resolve((server.address() as AddressInfo).port));
  });
}

/** The kernel assigns the lowest free number, so it shows how many are in use; -1 on platforms without descriptors. */
function descriptorOf(socket: object): number {
  // There is no public property for it.
  return (socket as { _handle?: { fd?: number } })._handle?.fd ?? -1;
}

class NodeUpgrade implements Upgrade {
  readonly request: UpgradeRequest;
  readonly #socket: Duplex;
  readonly #head: Buffer;

  constructor(request: UpgradeRequest, socket: Duplex, head: Buffer) {
    this.request = request;
    this.#socket = socket;
    this.#head = head;
    socket.on("error", destroy);
  }

  get address(): string {
    return (this.#socket as Socket).remoteAddress ?? "unknown";
  }

  get descriptors(): number {
    return descriptorOf(this.#socket);
  }

  get handle(): Upgrade["handle"] {
    const { request } = this;
    const socket = this.#socket;
    if (socket.destroyed) return undefined;
    socket.off("error", destroy);
    // What was read meanwhile.
    const more = socket.readableLength > 0 ? [socket.read() as Buffer] : [];
    return { request, socket, head: Buffer.concat([this.#head, ...more]) };
  }

  accept(options: AcceptOptions): void {
    const socket = this.#socket as Socket;
    if (socket.destroyed) return;
    socket.off("error", destroy);
    const server = webSocketServer(options.maxBytes);
    added = options.headers;
    server.handleUpgrade(this.request as IncomingMessage, socket, this.#head, (ws) => ws.begin(socket, options));
    added = {};
  }

  reject(status: string, reason: string): void {
    if (!this.#socket.destroyed) rejectUpgrade(this.#socket, status, reason);
  }
}

function destroy(this: Duplex): void {
  this.destroy();
}

type NodeSocketServer = InstanceType<typeof WebSocketServer<typeof NodeSocket>>;

const webSocketServers = new Map<number, NodeSocketServer>();
/** The headers of the handshake in progress: `ws` emits "headers" before `handleUpgrade` returns. */
let added: Record<string, string> = {};

function webSocketServer(maxPayload: number): NodeSocketServer {
  let server = webSocketServers.get(maxPayload);
  if (server === undefined) {
    server = new WebSocketServer<typeof NodeSocket>({
      noServer: true,
      clientTracking: false,
      perMessageDeflate: false,
      maxPayload,
      maxBufferedChunks: Math.max(MIN_PIECES, Math.ceil(maxPayload / MIN_PIECE)),
      autoPong: false,
      WebSocket: NodeSocket,
      handleProtocols: selectSubprotocol,
    });
    server.on("headers", (lines) => {
      for (const [name, value] of Object.entries(added)) lines.push(`${name}: ${value}`);
    });
    webSocketServers.set(maxPayload, server);
  }
  return server;
}

/** Stores the peer on the socket: a session needs no closure and no map entry. */
class NodeSocket extends WebSocket implements PeerSocket, FirstReader {
  peer!: SocketPeer;
  readonly freesUnread = true;
  #stream!: Socket;
  /** Set with the first message that does not arrive whole. */
  #tracker: MessageTracker | undefined;
  #maxBytes = 0;
  /** The number of waiting answers, without the first few. */
  #answers = 0;
  #onTaken: (() => void) | undefined;
  /** True while a message is handled that was alone in its chunk. */
  #isAlone = false;
  /** What ends this turn, and its argument. */
  #end: ((peer: unknown) => void) | undefined;
  #ending: unknown;
  /** The payload of the last pong that waits for the peer to read. */
  #pong: Uint8Array | undefined;

  begin(stream: Socket, { maxBytes, open }: AcceptOptions): void {
    this.#stream = stream;
    this.#maxBytes = maxBytes;
    if (!replaceParts(this, stream)) stream.on("data", (chunk: Buffer) => this.track(chunk));
    open(this);
  }

  /** Replaces a listener for each event, which every socket would have to add. */
  override emit(event: string | symbol, value?: unknown, isBinary?: boolean): boolean {
    const { peer } = this;
    if (event === "message") peer.receive(value as Buffer, isBinary as boolean);
    else if (event === "ping") peer.pinged(value as Buffer);
    else if (event === "pong") peer.ponged(value as Buffer);
    else if (event === "close") peer.gone(value === CLOSE_CODES.tooLarge ? "a frame was too large" : "disconnected");
    // After "error", "close" follows.
    return true;
  }

  /** Reads the short text messages at the start of a chunk: most chunks are one. Returns where the others begin. */
  readShort(chunk: Buffer): number {
    let at = 0;
    if (this.unfinishedBytes > 0) return at;
    while (chunk[at] === TEXT) {
      const end = endOfFrame(chunk, at);
      if (end === 0 || !this.#readFrame(chunk, at, end)) break;
      at = end;
    }
    return at;
  }

  /** Returns false for a frame that `ws` must read. */
  #readFrame(chunk: Buffer, at: number, end: number): boolean {
    const start = startOfPayload(chunk, at);
    const length = end - start;
    if (length > SMALL || length > this.#maxBytes) return false;
    const isAscii = unmask(chunk, start, end) < 0x80;
    if (!isAscii && !isUtf8(chunk.subarray(start, end))) {
      // Masked again: `ws` knows how to reject it.
      unmask(chunk, start, end);
      return false;
    }
    this.#isAlone = at === 0 && end === chunk.length;
    try {
      this.peer.receive(chunk.toString(isAscii ? "latin1" : "utf8", start, end), false);
    } finally {
      this.#isAlone = false;
      const endTurn = this.#end;
      this.#end = undefined;
      endTurn?.(this.#ending);
    }
    return true;
  }

  /** Follows what `ws` has read. */
  track(chunk: Buffer): void {
    // Nothing of it is kept.
    if (this.unfinishedBytes === 0 && endOfFrame(chunk, 0) === chunk.length) return;
    this.#tracker ??= new MessageTracker((kept) => this.peer.grew(kept));
    this.#tracker.read(chunk);
  }

  override send(message: string | Uint8Array): void {
    if (this.readyState !== this.OPEN) return;
    const { length } = message;
    const isText = typeof message === "string";
    const stream = this.#stream;
    if (length >= LARGE) {
      // A waiting string would be in memory twice: the system call has its own copy.
      return super.send(isText ? Buffer.from(message) : message, { binary: !isText }, this.#untilTaken());
    }
    // `ws` would write the header and the payload of a frame as two buffers.
    const bytes = isText ? Buffer.byteLength(message) : length;
    const waits = length >= SMALL || stream.writableLength >= SMALL;
    if (waits) stream.write(frameOf(message, bytes), this.#untilTaken());
    else if (isText && bytes === length) stream.write(textFrameHeader(length) + message, "latin1");
    else stream.write(frameOf(message, bytes));
  }

  sendParts({ list, length, isText }: MessageParts): void {
    if (this.readyState !== this.OPEN) return;
    const stream = this.#stream;
    stream.cork();
    stream.write(largeFrameHeader(length, isText), this.#untilTaken());
    for (const part of list) stream.write(part);
    stream.uncork();
  }

  /** Counts an answer until the returned function is called. */
  #untilTaken(): () => void {
    this.#answers++;
    return (this.#onTaken ??= () => void this.#answers--);
  }

  get untaken(): number {
    const { writableLength } = this.#stream;
    return writableLength === 0 ? 0 : writableLength + this.#answers * ANSWER_BYTES;
  }

  awaitDrain(stallMs: number): void {
    const stream = this.#stream;
    const onStall = (): void => this.peer.stalled();
    stream.setTimeout(stallMs, onStall);
    stream.once("drain", () => {
      stream.setTimeout(0, onStall);
      this.peer.drained();
    });
  }

  cork<P>(end: (peer: P) => void, peer: P): void {
    if (this.#isAlone) {
      // There will be no other answer to write together with this one.
      this.#end = end as (peer: unknown) => void;
      this.#ending = peer;
    } else {
      this.#stream.cork();
      process.nextTick(end, peer);
    }
  }

  uncork(): void {
    this.#stream.uncork();
  }

  together(send: () => void): void {
    this.#stream.cork();
    send();
    this.#stream.uncork();
  }

  override ping(): boolean {
    super.ping();
    return true;
  }

  override pong(payload: Uint8Array): void {
    const stream = this.#stream;
    if (!stream.writableNeedDrain) {
      if (this.readyState === this.OPEN) super.pong(payload);
      return;
    }
    if (this.#pong === undefined) {
      stream.once("drain", () => {
        const last = this.#pong as Uint8Array;
        this.#pong = undefined;
        this.pong(last);
      });
    }
    this.#pong = payload;
  }

  override pause(): boolean {
    super.pause();
    return true;
  }

  get bytesRead(): number {
    return this.#stream.bytesRead;
  }

  get unfinishedBytes(): number {
    return this.#tracker === undefined ? 0 : this.#tracker.heldBytes;
  }

  get unreadBytes(): number {
    return this.#stream.readableLength;
  }
}
