import { setTimeout as sleep } from "node:timers/promises";
import { SESSION_HEADER } from "../../protocol/http.js";
import { CLOSE_CODES, EXTENSIONS, EXTENSIONS_KEY, type Extension, MOVING_KEY } from "../../protocol/messages.js";
import { VIEW_KEY } from "../../protocol/web.js";
import { isThenable } from "../../util/async/thenable.js";
import { CLIENTS_ONLY } from "../access/authorization.js";
import type { Cluster, UpgradeRequest } from "../cluster.js";
import type { ServerContext } from "../context.js";
import { type AddressProblem, findAddress, isAddressed } from "../http/address.js";
import type { PeerSocket, Upgrade } from "../runtimes/runtime.js";
import { Connection } from "./connection.js";
import { Heartbeat } from "./flow/heartbeat.js";
import { UnfinishedFrames } from "./flow/unfinished-frames.js";
import type { SocketProtocol } from "./protocol.js";
import { createRpcProtocol } from "./rpc-protocol.js";
import { createSessionProtocol } from "./session-protocol.js";

/** The time that a close frame gets to be sent. */
const CLOSE_TIMEOUT_MS = 100;
/** A peer that reads none of its answers is closed after this many ping intervals. */
const STALLED_PINGS = 3;

/** Extensions that a session by address does not have: its name leads to it. */
const OF_A_SERVER: readonly Extension[] = ["batch", "resume", "move"];
const NO_DESCRIPTORS = "the server cannot accept more connections: try again later";

export interface SocketServer {
  /** Accepts an upgrade request, or rejects it with an HTTP status. */
  upgrade(upgrade: Upgrade): void;
  /** Accepts an upgrade that another server of the cluster has checked and forwarded. */
  acceptForwarded(upgrade: Upgrade): void;
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
  sessionId(request: UpgradeRequest): string | null;
  upgrade(upgrade: Upgrade): void;
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
  const heartbeat = new Heartbeat<Connection>(context.pingIntervalMs);
  const { backlog, maxMessageBytes, runQueue } = context;
  const limits = { backlog, stallMs: STALLED_PINGS * context.pingIntervalMs, runQueue };
  const unfinished = new UnfinishedFrames(backlog, heartbeat);

  sessions.departure.onBegin = () => {
    for (const connection of heartbeat.peers()) connection.leaveIfOver();
  };

  const find = (request: UpgradeRequest): Target | AddressProblem | undefined => {
    const { url = "/", headers } = request;
    const path = url.split("?", 1)[0] as string;
    const addressed = findAddress(path, headers);
    if (addressed !== undefined) {
      if (!isAddressed(addressed)) return addressed;
      const below = parseTarget(addressed.path + url.slice(path.length), protocols);
      const extensions = below?.extensions.filter((name) => !OF_A_SERVER.includes(name)) ?? [];
      return below && { ...below, extensions, address: addressed.address, retry: addressed.retry };
    }
    const target = parseTarget(url, protocols);
    if (target !== undefined) return target;
    const route = mounted.find(({ path }) => url === path || url.startsWith(`${path}?`));
    return route && { handler: route, sessionId: route.sessionId(request), extensions: [] };
  };

  const refuseToken = async (upgrade: Upgrade): Promise<void> => {
    const { address, request } = upgrade;
    await context.audit.refuse({ client: address, headers: request.headers, request: "WebSocket handshake" });
    upgrade.reject("401 Unauthorized", CLIENTS_ONLY);
  };

  const open = (target: Target, upgrade: Upgrade): void => {
    if (context.descriptors.areShort(upgrade.descriptors)) {
      return upgrade.reject("503 Service Unavailable", NO_DESCRIPTORS);
    }
    const { handler } = target;
    if ("upgrade" in handler) return handler.upgrade(upgrade);
    // A balancer learns from the handshake which server has a new resumable session.
    const isResumable = target.sessionId === null && target.extensions.includes("resume");
    const name = isResumable ? sessions.makeId() : undefined;
    const orchestrator = context.authorization.isOrchestrator(upgrade.request.headers);
    upgrade.accept({
      headers: name === undefined ? {} : { [SESSION_HEADER]: name },
      maxBytes: maxMessageBytes,
      open: (ws) => accept(ws, { target, protocol: handler, orchestrator, name }),
    });
  };

  /** Opens the socket in the worker that this resolves with, here without one. */
  const openAt = async (cluster: Cluster, locating: Promise<number | undefined>, placed: Placed): Promise<void> => {
    const worker = await locating;
    if (worker === undefined) return open(placed.target, placed.upgrade);
    handOff(cluster, placed.upgrade, worker);
  };

  const accept = (ws: PeerSocket, { target, protocol, orchestrator, name }: Accepted): void => {
    const { addresses } = context;
    const address = target.address === undefined ? undefined : { hash: target.address, addresses, retry: target.retry };
    const connection = new Connection({ ws, protocol, sessions, orchestrator, limits, address });
    connection.extensions = target.extensions;
    connection.group = heartbeat.watch(connection);
    ws.peer = connection;
    connection.start(target.sessionId, name);
  };

  return {
    upgrade(upgrade) {
      const { request } = upgrade;
      const target = find(request);
      if (!isTarget(target)) return rejectPath(upgrade, target);
      const objection = context.origins.rejectionReason(request.headers);
      if (objection !== undefined) return upgrade.reject("403 Forbidden", objection);
      if (!context.authorization.isClient(request.headers)) return void refuseToken(upgrade);
      const isNew = target.sessionId === null && target.address === undefined;
      if (context.closing || (sessions.rejectsNew && isNew)) {
        runtime.statistics.countRejection("draining");
        return rejectLate(upgrade);
      }
      if (isNew && sessions.departure.hasBegun && request.url?.includes(`${MOVING_KEY}=1`)) {
        runtime.statistics.countRejection(sessions.paused ? "paused" : "draining");
        return upgrade.reject("503 Service Unavailable", "the server is paused or stops: connect to another one");
      }
      const { cluster, directory } = context;
      if (cluster === undefined) return open(target, upgrade);
      const worker = directory.locate({ id: target.sessionId ?? undefined, address: target.address });
      if (isThenable(worker)) return void openAt(cluster, worker, { target, upgrade });
      if (worker !== undefined || (isNew && cluster.shouldHandOff())) return handOff(cluster, upgrade, worker);
      open(target, upgrade);
    },
    acceptForwarded(upgrade) {
      const target = find(upgrade.request);
      if (!isTarget(target)) return rejectPath(upgrade, target);
      if (context.closing) {
        runtime.statistics.countRejection("draining");
        return rejectLate(upgrade);
      }
      open(target, upgrade);
    },
    drain() {
      for (const connection of heartbeat.peers()) connection.drain();
      for (const route of mounted) route.drain();
    },
    get open() {
      return mounted.reduce((sum, route) => sum + route.open, heartbeat.size);
    },
    async terminate() {
      for (const connection of heartbeat.peers()) connection.close(CLOSE_CODES.restart, "the server is shutting down");
      await sleep(CLOSE_TIMEOUT_MS);
      for (const connection of heartbeat.peers()) connection.terminate();
      for (const route of mounted) route.terminate();
    },
    close() {
      heartbeat.close();
      unfinished.close();
    },
  };
}

interface Placed {
  upgrade: Upgrade;
  target: Target;
}

interface Accepted {
  target: Target;
  protocol: SocketProtocol;
  orchestrator: boolean;
  /** The id of a new resumable session. */
  name: string | undefined;
}

interface Target {
  handler: SocketProtocol | SocketRoute;
  sessionId: string | null;
  extensions: Connection["extensions"];
  /** The hash of the name in the path or the header. */
  address?: string;
  /** The path opts in to the answer of an equal step. */
  retry?: boolean | undefined;
}

function isTarget(found: Target | AddressProblem | undefined): found is Target {
  return found !== undefined && "handler" in found;
}

/** Passes the socket on; a socket that has closed meanwhile has no handle. */
function handOff(cluster: Cluster, { handle }: Upgrade, owner: number | undefined): void {
  if (handle !== undefined) cluster.handOff(handle, owner);
}

function rejectPath(upgrade: Upgrade, problem: AddressProblem | undefined): void {
  if (problem === undefined) upgrade.reject("403 Forbidden", "no WebSocket here: use /ws or /mcp");
  else upgrade.reject(problem.status === 400 ? "400 Bad Request" : "404 Not Found", problem.data.message);
}

function rejectLate(upgrade: Upgrade): void {
  upgrade.reject("503 Service Unavailable", "the server is shutting down");
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
