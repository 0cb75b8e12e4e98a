import { createServer, type IncomingMessage, type Server, ServerResponse } from "node:http";
import { type AddressInfo, Server as NetServer, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { WebSocketServer } from "ws";
import { Openings } from "../limits/openings.js";
import { prepareLargeBuffers } from "./large-buffers.js";
import { NodeSocket } from "./node-socket.js";
import { ignoreUpgrade, wantsWebSocket } from "./other-upgrade.js";
import { Pipeline } from "./pipeline.js";
import { rejectUpgrade } from "./reject-upgrade.js";
import {
  type AcceptOptions,
  LISTEN_BACKLOG,
  type Listener,
  type ServerParts,
  type ServerRuntime,
  type Upgrade,
  type UpgradeRequest,
} from "./runtime.js";

/**
 * The smallest average size of the pieces of a message, apart from a few smaller ones: each buffered piece needs some
 * 400 bytes in addition to its content. Packets of ordinary networks are larger.
 */
const MIN_PIECE = 1024;
const MIN_PIECES = 1024;

/** Node: `node:http`, and `ws` for WebSockets. */
export const NODE: ServerRuntime = {
  name: "Node",
  async listen({ config, listenShared, ...parts }: ServerParts): Promise<Listener> {
    prepareLargeBuffers();
    const { descriptors } = parts.context;
    const server = createNodeServer(parts);
    const port = await (listenShared === undefined ? listen(server, config) : listenShared(server));
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
        return listenShared === undefined ? closed : Promise.resolve();
      },
      takeOver: (...handed) => new NodeUpgrade(...handed),
    };
  },
};

/** A server that does not listen yet. */
export function createNodeServer({ context, handle, upgrade }: Omit<ServerParts, "config" | "listenShared">): Server {
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

function listen(server: Server, { host, port }: ServerParts["config"]): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
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
    accepting = options;
    server.handleUpgrade(this.request as IncomingMessage, socket, this.#head, (ws) => ws.begin(socket, options));
    accepting = undefined;
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
/** The handshake in progress: `ws` selects a subprotocol and emits "headers" before `handleUpgrade` returns. */
let accepting: AcceptOptions | undefined;

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
      handleProtocols: () => accepting?.protocol ?? false,
    });
    server.on("headers", (lines) => {
      for (const [name, value] of Object.entries(accepting?.headers ?? {})) lines.push(`${name}: ${value}`);
    });
    webSocketServers.set(maxPayload, server);
  }
  return server;
}
