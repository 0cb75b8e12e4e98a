import { STATUS_CODES } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { Heartbeat, type InflowParts, type PeerSocket, UnfinishedFrames, type Upgrade } from "#parts/sockets";
import { SESSION_HEADER, STATUS } from "../../protocol/http.js";
import { CLOSE_CODES, MOVING_KEY, type WireCode } from "../../protocol/messages.js";
import { isThenable } from "../../util/async/thenable.js";
import { CLIENTS_ONLY, selectSubprotocol } from "../access/authorization.js";
import type { Cluster } from "../cluster.js";
import type { ServerContext } from "../context.js";
import type { AddressProblem } from "../http/address.js";
import { headerTrace } from "../http/http-session.js";
import { isRefusal } from "../plugins/hook.js";
import type { Plugins } from "../plugins/plugins.js";
import { Connection } from "./connection.js";
import type { SocketProtocol } from "./protocol.js";
import { createRpcProtocol } from "./rpc-protocol.js";
import { SessionProtocol } from "./session-protocol.js";
import { findTarget, isTarget, type SocketPaths, type SocketRoute, type Target } from "./socket-target.js";

/** The time that a close frame gets to be sent. */
const CLOSE_TIMEOUT_MS = 100;
/** A peer that reads none of its answers is closed after this many ping intervals. */
const STALLED_PINGS = 3;
const NO_DESCRIPTORS = "the server cannot accept more connections: try again later";

type Authorize = NonNullable<Plugins["authorize"]>;

/** The WebSockets `/ws` and `/mcp`, and the `mounted` paths. */
export class SocketServer {
  readonly #context: ServerContext;
  readonly #paths: SocketPaths;
  readonly #limits: InflowParts["limits"];
  readonly #heartbeat: Heartbeat<Connection>;
  readonly #unfinished: UnfinishedFrames;

  constructor(context: ServerContext, mounted: readonly SocketRoute[] = []) {
    const { runtime, sessions, backlog, runQueue, pingIntervalMs } = context;
    const protocols = { "/ws": new SessionProtocol(runtime, sessions), "/mcp": createRpcProtocol(runtime, sessions) };
    this.#context = context;
    this.#paths = { protocols, mounted };
    this.#limits = { backlog, stallMs: STALLED_PINGS * pingIntervalMs, runQueue };
    this.#heartbeat = new Heartbeat<Connection>(pingIntervalMs);
    this.#unfinished = new UnfinishedFrames(backlog, this.#heartbeat);
    sessions.departure.onBegin = () => {
      for (const connection of this.#heartbeat.peers()) connection.leaveIfOver();
    };
  }

  /** The number of open sockets. */
  get open(): number {
    return this.#paths.mounted.reduce((sum, route) => sum + route.open, this.#heartbeat.size);
  }

  /** Accepts an upgrade request, or rejects it with an HTTP status. */
  upgrade(upgrade: Upgrade): void {
    const { request } = upgrade;
    const { origins, plugins } = this.#context;
    const target = findTarget(request, this.#paths);
    if (!isTarget(target)) return rejectPath(upgrade, target);
    const objection = origins.rejectionReason(request.headers);
    if (objection !== undefined) return upgrade.reject("403 Forbidden", objection);
    const { authorize } = plugins;
    if (authorize !== undefined) return void this.#recognise(target, upgrade, authorize);
    this.#permit(target, upgrade);
  }

  /** A plugin decides whether the peer may open the socket. */
  async #recognise(target: Target, upgrade: Upgrade, authorize: Authorize, isForwarded = false): Promise<void> {
    const { address, request } = upgrade;
    const { method = "GET", url = "/", headers } = request;
    const decided = await authorize({ method, url, headers, address, isOpen: false });
    if (isRefusal(decided)) {
      if (decided.code === "UNAUTHORIZED") await this.#countRefusal(upgrade);
      return upgrade.reject(statusLine(decided.code), decided.message);
    }
    target.principal = decided;
    this.#permit(target, upgrade, isForwarded);
  }

  /** Opens the socket of a peer that a plugin has recognised, or that has a token if one is required. */
  #permit(target: Target, upgrade: Upgrade, isForwarded = false): void {
    const { authorization, runtime } = this.#context;
    const { headers } = upgrade.request;
    const isUnknown = target.principal === undefined;
    if (isUnknown && !authorization.isClient(headers)) return void this.#refuseToken(upgrade);
    if (isForwarded) return this.#open(target, upgrade);
    // Where no token is required, the peer with a wrong one is a client, not the orchestrator.
    const isGuess = isUnknown && runtime.guarded && authorization.isWrong(headers) === true;
    if (isGuess) return void this.#countRefusal(upgrade).then(() => this.#place(target, upgrade));
    this.#place(target, upgrade);
  }

  /** Opens the socket here or at another worker. */
  #place(target: Target, upgrade: Upgrade): void {
    const { request } = upgrade;
    const { cluster, closing, directory, runtime, sessions } = this.#context;
    const isNew = target.sessionId === null && target.address === undefined;
    if (closing || (sessions.rejectsNew && isNew)) return this.#rejectLate(upgrade);
    if (isNew && sessions.departure.hasBegun && request.url?.includes(`${MOVING_KEY}=1`)) {
      runtime.statistics.countRejection(sessions.departure.paused ? "paused" : "draining");
      return upgrade.reject("503 Service Unavailable", "the server is paused or stops: connect to another one");
    }
    if (cluster === undefined) return this.#open(target, upgrade);
    const worker = directory.locate({ id: target.sessionId ?? undefined, address: target.address });
    if (isThenable(worker)) {
      const place = (found: number | undefined): void => {
        if (found === undefined) this.#open(target, upgrade);
        else handOff(cluster, upgrade, found);
      };
      return void worker.then(place);
    }
    if (worker !== undefined || (isNew && cluster.shouldHandOff())) return handOff(cluster, upgrade, worker);
    this.#open(target, upgrade);
  }

  /** Accepts an upgrade that another worker has checked and forwarded. */
  acceptForwarded(upgrade: Upgrade): void {
    const target = findTarget(upgrade.request, this.#paths);
    if (!isTarget(target)) return rejectPath(upgrade, target);
    const { authorize } = this.#context.plugins;
    if (authorize !== undefined) return void this.#recognise(target, upgrade, authorize, true);
    this.#permit(target, upgrade, true);
  }

  /** Closes each socket once its answer in flight is sent. */
  drain(): void {
    for (const connection of this.#heartbeat.peers()) connection.drain();
    for (const route of this.#paths.mounted) route.drain();
  }

  /** Closes all open sockets with a code, even with calls in flight; resolves when they are closed. */
  async terminate(): Promise<void> {
    const peers = (): Iterable<Connection> => this.#heartbeat.peers();
    for (const connection of peers()) connection.close(CLOSE_CODES.restart, "the server is shutting down");
    await sleep(CLOSE_TIMEOUT_MS);
    for (const connection of peers()) connection.terminate();
    for (const route of this.#paths.mounted) route.terminate();
  }

  close(): void {
    this.#heartbeat.close();
    this.#unfinished.close();
  }

  async #refuseToken(upgrade: Upgrade): Promise<void> {
    await this.#countRefusal(upgrade);
    upgrade.reject("401 Unauthorized", CLIENTS_ONLY);
  }

  #countRefusal({ address, request: { headers } }: Upgrade): Promise<void> {
    return this.#context.audit.refuse({ client: address, headers, request: "WebSocket handshake" });
  }

  #rejectLate(upgrade: Upgrade): void {
    this.#context.runtime.statistics.countRejection("draining");
    upgrade.reject("503 Service Unavailable", "the server is shutting down");
  }

  #open(target: Target, upgrade: Upgrade): void {
    const { authorization, closing, descriptors, maxMessageBytes, sessions } = this.#context;
    // The server may have begun to close while a plugin or another worker was asked.
    if (closing) return this.#rejectLate(upgrade);
    if (descriptors.areShort(upgrade.descriptors)) return upgrade.reject("503 Service Unavailable", NO_DESCRIPTORS);
    const { handler } = target;
    if ("upgrade" in handler) return handler.upgrade(upgrade, target.principal);
    if (sessions.keeper === undefined) target.extensions = target.extensions.filter((name) => name !== "resume");
    // A balancer learns from the handshake which server has a new resumable session.
    const isResumable = target.sessionId === null && target.extensions.includes("resume");
    const newId = isResumable ? sessions.makeId() : undefined;
    const orchestrator = authorization.isOrchestrator(upgrade.request.headers);
    upgrade.accept({
      headers: newId === undefined ? {} : { [SESSION_HEADER]: newId },
      protocol: selectSubprotocol(upgrade.request.headers),
      maxBytes: maxMessageBytes,
      open: (ws) =>
        this.#accept(ws, target, { protocol: handler, orchestrator, newId, traceparent: headerTrace(upgrade.request) }),
    });
  }

  #accept(ws: PeerSocket, target: Target, { protocol, orchestrator, newId, traceparent }: Accepted): void {
    const { addresses, sessions } = this.#context;
    const address = target.address === undefined ? undefined : { hash: target.address, addresses, retry: target.retry };
    const connection = new Connection({
      ws,
      protocol,
      sessions,
      orchestrator,
      limits: this.#limits,
      address,
      principal: target.principal,
      traceparent,
    });
    connection.extensions = target.extensions;
    connection.group = this.#heartbeat.watch(connection);
    ws.peer = connection;
    connection.start(target.sessionId, newId);
  }
}

interface Accepted {
  protocol: SocketProtocol;
  orchestrator: boolean;
  /** The id of a new resumable session. */
  newId: string | undefined;
  traceparent: string | undefined;
}

function statusLine(code: WireCode): string {
  return `${STATUS[code]} ${STATUS_CODES[STATUS[code]]}`;
}

/** Passes the socket on; a socket that has closed meanwhile has no handle. */
function handOff(cluster: Cluster, { handle }: Upgrade, owner: number | undefined): void {
  if (handle !== undefined) cluster.handOff(handle, owner);
}

function rejectPath(upgrade: Upgrade, problem: AddressProblem | undefined): void {
  if (problem === undefined) upgrade.reject("403 Forbidden", "no WebSocket here: use /ws or /mcp");
  else upgrade.reject(problem.status === 400 ? "400 Bad Request" : "404 Not Found", problem.data.message);
}
