import { createServer, type IncomingMessage, type Server } from "node:http";
import { type AddressInfo, Server as NetServer, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { WebSocket, WebSocketServer } from "ws";
import { ConfigError } from "../../errors.js";
import { CLOSE_CODES } from "../../protocol/messages.js";
import { selectSubprotocol } from "../access/authorization.js";
import type { Config } from "../config/config.js";
import { ignoreUpgrade, wantsWebSocket } from "../http/other-upgrade.js";
import { Pipeline } from "../http/pipeline.js";
import { LISTEN_BACKLOG, listenProblem } from "../lifecycle/listen-problem.js";
import { MessageTracker } from "../websocket/flow/message-tracker.js";
import { rejectUpgrade } from "../websocket/reject-upgrade.js";
import type {
  AcceptOptions,
  Listener,
  PeerSocket,
  ServerParts,
  ServerRuntime,
  SocketPeer,
  Upgrade,
} from "./runtime.js";

/**
 * The smallest average size of the pieces of a message, apart from a few smaller ones: each buffered piece needs some
 * 400 bytes in addition to its content. Packets of ordinary networks are larger.
 */
const LEAST_PIECE = 1024;
const MIN_PIECES = 1024;
/** Up to this size, answers and unread data are not counted individually, bytes. */
const SMALL = 4 * 1024;
/** The memory of a waiting answer in addition to its content (measured with Node 20 on x64). */
const ANSWER_BYTES = 512;

/** Node: `node:http`, and `ws` for WebSockets. */
export const NODE: ServerRuntime = {
  name: "Node",
  check() {},
  async listen({ config, cluster, ...parts }: ServerParts): Promise<Listener> {
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
  const { descriptors, backlog } = context;
  const server = createServer({ noDelay: true }, (request, response) => {
    const pipeline = Pipeline.of(request.socket, backlog);
    const answered = (): void => pipeline.answered(response);
    pipeline.enter(response, (isPipelined) => void handle(request, response, { isPipelined }).then(answered));
  });
  server.on("connection", (socket: Socket) => {
    if (descriptors.areAlmostUsedUp(descriptorOf(socket))) socket.destroy();
  });
  server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    if (wantsWebSocket(request)) upgrade(new NodeUpgrade(request, socket, head));
    else ignoreUpgrade(server, request, { socket, head });
  });
  return server;
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
  readonly request: IncomingMessage;
  readonly #socket: Duplex;
  readonly #head: Buffer;

  constructor(request: IncomingMessage, socket: Duplex, head: Buffer) {
    this.request = request;
    this.#socket = socket;
    this.#head = head;
    socket.on("error", destroy);
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

  accept({ headers, maxBytes, open }: AcceptOptions): void {
    const socket = this.#socket as Socket;
    if (socket.destroyed) return;
    socket.off("error", destroy);
    const server = webSocketServer(maxBytes);
    added = headers;
    server.handleUpgrade(this.request, socket, this.#head, (ws) => ws.begin(socket, open));
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
      maxBufferedChunks: Math.max(MIN_PIECES, Math.ceil(maxPayload / LEAST_PIECE)),
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
class NodeSocket extends WebSocket implements PeerSocket {
  peer!: SocketPeer;
  #stream!: Socket;
  #tracker!: MessageTracker;
  /** The number of waiting answers, without the first few. */
  #answers = 0;
  readonly #onTaken = (): void => void this.#answers--;
  /** The payload of the last pong that waits for the peer to read. */
  #pong: Uint8Array | undefined;

  begin(stream: Socket, open: AcceptOptions["open"]): void {
    this.#stream = stream;
    this.#tracker = new MessageTracker((kept) => this.peer.grew(kept));
    stream.on("data", this.#tracker.read);
    this.on("message", onMessage).on("ping", onPing).on("pong", onPong).on("error", onError).on("close", onClose);
    open(this);
  }

  override send(message: string | Uint8Array): void {
    const { length } = message;
    const isText = typeof message === "string";
    const stream = this.#stream;
    if (length >= SMALL || stream.writableLength >= SMALL) {
      this.#answers++;
      // A waiting string would be in memory twice: the system call has its own copy.
      super.send(isText ? Buffer.from(message) : message, { binary: !isText }, this.#onTaken);
    } else if (isText && Buffer.byteLength(message) === length) {
      // Most answers are short ASCII text. `ws` would write the header and the text of a frame as two buffers.
      if (this.readyState === this.OPEN) stream.write(textFrameHeader(length) + message, "latin1");
    } else super.send(message);
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
    this.#stream.cork();
    process.nextTick(end, peer);
  }

  uncork(): void {
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
    return this.#tracker.heldBytes;
  }

  get unreadBytes(): number {
    return this.#stream.readableLength;
  }

  /** After an error `ws` stops reading: it keeps its bytes until the socket closes, and drops later data. */
  stopTracking(): void {
    this.#stream.off("data", this.#tracker.read);
  }
}

function onMessage(this: WebSocket, data: unknown, isBinary: boolean): void {
  (this as NodeSocket).peer.receive(data as Buffer, isBinary);
}

function onPing(this: WebSocket, payload: Buffer): void {
  (this as NodeSocket).peer.pinged(payload);
}

function onPong(this: WebSocket, payload: Buffer): void {
  (this as NodeSocket).peer.ponged(payload);
}

function onError(this: WebSocket): void {
  (this as NodeSocket).stopTracking();
}

function onClose(this: WebSocket, code: number): void {
  (this as NodeSocket).peer.gone(code === CLOSE_CODES.tooLarge ? "a frame was too large" : "disconnected");
}

/** The header of an unmasked text frame of fewer than 64 KiB (RFC 6455, section 5.2), one character for each byte. */
function textFrameHeader(length: number): string {
  return length < 126 ? String.fromCharCode(0x81, length) : String.fromCharCode(0x81, 126, length >> 8, length & 0xff);
}
