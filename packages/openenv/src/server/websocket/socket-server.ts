import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { WebSocketServer } from "ws";
import { SESSION_HEADER } from "../../protocol/http.js";
import type { ErrorData } from "../../protocol/messages.js";
import { CLOSE_CODES, EXTENSIONS, EXTENSIONS_KEY, type Extension } from "../../protocol/messages.js";
import { VIEW_KEY } from "../../protocol/web.js";
import type { Cluster } from "../../session/registry/cluster.js";
import { CLIENTS_ONLY, selectSubprotocol } from "../access/authorization.js";
import type { ServerContext } from "../context.js";
import { parseAddress } from "../http/address.js";
import { Connection, SessionSocket } from "./connection.js";
import { Heartbeat } from "./flow/heartbeat.js";
import { UnfinishedFrames } from "./flow/unfinished-frames.js";
import type { SocketProtocol } from "./protocol.js";
import { rejectUpgrade } from "./reject-upgrade.js";
import { createRpcProtocol } from "./rpc-protocol.js";
import { createSessionProtocol } from "./session-protocol.js";

/** The time that a close frame gets to be sent. */
const CLOSE_TIMEOUT_MS = 100;
/** A peer that reads none of its answers is closed after this many ping intervals. */
const STALLED_PINGS = 3;
/**
 * The smallest average size of the pieces of a message, apart from a few smaller ones: each buffered piece needs some
 * 400 bytes in addition to its content. Packets of ordinary networks are larger.
 */
const LEAST_PIECE = 1024;
const MIN_PIECES = 1024;

const NO_DESCRIPTORS = "the server cannot accept more connections: try again later";

export interface SocketServer {
  /** Accepts an upgrade request, or rejects it with an HTTP status. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void;
  /** Accepts an upgrade that another server of the cluster has checked and forwarded. */
  acceptForwarded(request: IncomingMessage, socket: Duplex, head: Buffer): void;
  /** Closes each socket once its answer in flight is sent. */
  drain(): void;
  /** The number of open sockets. */
  readonly open: number;
  /** Closes all open sockets with a code, even with calls in flight; resolves when they are closed. */
  terminate(): Promise<void>;
  close(): void;
}

/** Handles the WebSockets of another path, which do not have the frames of a session. */
export interface SocketRoute {
  readonly path: string;
  /** The id of the session that a request names; another server of the cluster may hold it. */
  sessionId(request: IncomingMessage): string | null;
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void;
  readonly open: number;
  drain(): void;
  terminate(): void;
}

/** The WebSockets `/ws` and `/mcp`, and the `mounted` paths. */
export function createSocketServer(context: ServerContext, mounted: readonly SocketRoute[] = []): SocketServer {
  const { runtime, sessions } = context;
  const protocols: Record<string, SocketProtocol> = {
    "/ws": createSessionProtocol(runtime, sessions),
    "/mcp": createRpcProtocol(runtime, sessions),
  };
  const heartbeat = new Heartbeat<SessionSocket>(context.pingIntervalMs);
  const { backlog, maxMessageBytes, runQueue } = context;
  const limits = { backlog, stallMs: STALLED_PINGS * context.pingIntervalMs, runQueue };
  const unfinished = new UnfinishedFrames(backlog, heartbeat);
  const server = new WebSocketServer<typeof SessionSocket>({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: maxMessageBytes,
    maxBufferedChunks: Math.max(MIN_PIECES, Math.ceil(maxMessageBytes / LEAST_PIECE)),
    autoPong: false,
    WebSocket: SessionSocket,
    handleProtocols: selectSubprotocol,
  });

  /** The ids of new resumable sessions: a balancer learns from the handshake which server has the session. */
  const names = new WeakMap<IncomingMessage, string>();
  server.on("headers", (headers, request) => {
    const name = names.get(request);
    if (name !== undefined) headers.push(`${SESSION_HEADER}: ${name}`);
  });

  const find = (request: IncomingMessage): Target | ErrorData | undefined => {
    const { url = "/" } = request;
    const path = url.split("?", 1)[0] as string;
    const addressed = parseAddress(path);
    if (addressed !== undefined) {
      if (!("address" in addressed)) return addressed;
      const below = parseTarget(addressed.path + url.slice(path.length), protocols);
      const extensions = below?.extensions.filter((name) => name !== "batch" && name !== "resume") ?? [];
      return below && { ...below, extensions, address: addressed.address };
    }
    const target = parseTarget(url, protocols);
    if (target !== undefined) return target;
    const route = mounted.find(({ path }) => url === path || url.startsWith(`${path}?`));
    return route && { handler: route, sessionId: route.sessionId(request), extensions: [] };
  };

  const open = (target: Target, { request, socket, head }: Upgrade): void => {
    if (context.descriptors.areShort(socket)) {
      return rejectUpgrade(socket, "503 Service Unavailable", NO_DESCRIPTORS);
    }
    const { handler } = target;
    if ("upgrade" in handler) return handler.upgrade(request, socket, head);
    if (target.sessionId === null && target.extensions.includes("resume")) names.set(request, sessions.makeId());
    server.handleUpgrade(request, socket, head, (ws) =>
      accept(ws, socket as Socket, { request, target, protocol: handler }),
    );
  };

  /** Opens the socket in the worker that this resolves with, here without one. */
  const openAtOwner = async (cluster: Cluster, finding: Promise<number | undefined>, placed: Placed): Promise<void> => {
    const { target, request, socket, head } = placed;
    const onError = (): void => void socket.destroy();
    socket.on("error", onError);
    const owner = await finding;
    socket.off("error", onError);
    if (socket.destroyed) return;
    if (owner === undefined) return open(target, { request, socket, head });
    // What was read meanwhile.
    const more = (socket.read() as Buffer | null) ?? Buffer.alloc(0);
    cluster.handOff({ request, socket, head: Buffer.concat([head, more]) }, owner);
  };

  const accept = (ws: SessionSocket, socket: Socket, { request, target, protocol }: Accepted): void => {
    const orchestrator = context.authorization.isOrchestrator(request.headers);
    const address = target.address === undefined ? undefined : { hash: target.address, addresses: context.addresses };
    const connection = new Connection({ ws, socket, protocol, sessions, orchestrator, limits, address });
    connection.extensions = target.extensions;
    ws.connection = connection;
    ws.group = heartbeat.watch(ws);
    ws.listen();
    connection.start(target.sessionId, names.get(request));
  };

  return {
    upgrade(request, socket, head) {
      const target = find(request);
      if (!isTarget(target)) return rejectPath(socket, target);
      const objection = context.origins.rejectionReason(request.headers);
      if (objection !== undefined) return rejectUpgrade(socket, "403 Forbidden", objection);
      if (!context.authorization.isClient(request.headers))
        return rejectUpgrade(socket, "401 Unauthorized", CLIENTS_ONLY);
      const isNew = target.sessionId === null && target.address === undefined;
      if (context.closing || (sessions.rejectsNew && isNew)) {
        runtime.statistics.countRejection("draining");
        return rejectLate(socket);
      }
      const { cluster } = context;
      if (cluster !== undefined && target.address !== undefined) {
        return void openAtOwner(cluster, cluster.ownerOfAddress(target.address), { target, request, socket, head });
      }
      const { journal, resumptions } = sessions;
      const id = target.sessionId;
      if (cluster !== undefined && journal !== undefined && id !== null && target.extensions.includes("resume")) {
        if (resumptions.has(id)) return open(target, { request, socket, head });
        // The number in the id may be that of another worker, before a restart.
        const finding = journal
          .siblingOf(id)
          .then((sibling) => (sibling === undefined ? undefined : cluster.ownerOf(sibling)));
        return void openAtOwner(cluster, finding, { target, request, socket, head });
      }
      if (cluster !== undefined) {
        const owner = target.sessionId === null ? undefined : cluster.ownerOf(target.sessionId);
        const elsewhere = owner !== undefined || (isNew && cluster.shouldHandOff());
        if (elsewhere) return cluster.handOff({ request, socket, head }, owner);
      }
      open(target, { request, socket, head });
    },
    acceptForwarded(request, socket, head) {
      const target = find(request);
      if (!isTarget(target)) return rejectPath(socket, target);
      if (context.closing) {
        runtime.statistics.countRejection("draining");
        return rejectLate(socket);
      }
      open(target, { request, socket, head });
    },
    drain() {
      for (const ws of heartbeat.peers()) ws.connection.drain();
      for (const route of mounted) route.drain();
    },
    get open() {
      return mounted.reduce((sum, route) => sum + route.open, heartbeat.size);
    },
    async terminate() {
      for (const ws of heartbeat.peers()) ws.close(CLOSE_CODES.restart, "the server is shutting down");
      await sleep(CLOSE_TIMEOUT_MS);
      for (const ws of heartbeat.peers()) ws.terminate();
      for (const route of mounted) route.terminate();
    },
    close() {
      heartbeat.close();
      unfinished.close();
    },
  };
}

interface Upgrade {
  request: IncomingMessage;
  socket: Duplex;
  head: Buffer;
}

interface Placed extends Upgrade {
  target: Target;
}

interface Accepted {
  request: IncomingMessage;
  target: Target;
  protocol: SocketProtocol;
}

interface Target {
  handler: SocketProtocol | SocketRoute;
  sessionId: string | null;
  extensions: Connection["extensions"];
  /** The hash of the name in the path. */
  address?: string;
}

function isTarget(found: Target | ErrorData | undefined): found is Target {
  return found !== undefined && "handler" in found;
}

function rejectPath(socket: Duplex, problem: ErrorData | undefined): void {
  if (problem === undefined) rejectUpgrade(socket, "403 Forbidden", "no WebSocket here: use /ws or /mcp");
  else rejectUpgrade(socket, "404 Not Found", problem.message);
}

function rejectLate(socket: Duplex): void {
  rejectUpgrade(socket, "503 Service Unavailable", "the server is shutting down");
}

function parseTarget(url: string, protocols: Record<string, SocketProtocol>): Target | undefined {
  const mark = url.indexOf("?");
  const path = mark < 0 ? url : url.slice(0, mark);
  const protocol = Object.hasOwn(protocols, path) ? protocols[path] : undefined;
  if (protocol === undefined) return undefined;
  if (mark < 0) return { handler: protocol, sessionId: null, extensions: [] };
  const query = new URLSearchParams(url.slice(mark));
  const extensions = path === "/ws" ? requestedExtensions(query) : [];
  // An empty id counts as absent, as in the Python package; only /ws attaches to a session.
  const sessionId = path === "/ws" ? query.get("session_id") || null : null;
  return { handler: protocol, sessionId, extensions };
}

function requestedExtensions(query: URLSearchParams): Extension[] {
  const requested = (query.get(EXTENSIONS_KEY) ?? "").split(",");
  const extensions: Extension[] = EXTENSIONS.filter((name) => requested.includes(name));
  return query.get(VIEW_KEY) === "1" ? [...extensions, "view"] : extensions;
}
