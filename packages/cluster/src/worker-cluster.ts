import { mkdirSync, rmSync } from "node:fs";
import type { Server } from "node:http";
import { createServer } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";
import { ConfigError } from "#core/errors.js";
import type { SessionInfo } from "#core/protocol/http.js";
import type { SessionQuery } from "#core/protocol/session-query.js";
import type { Cluster, ClusterServer, ForwardedRequest } from "#core/server/cluster.js";
import { listenProblem } from "#core/server/lifecycle/listen-problem.js";
import type { ClusterPart } from "#core/server/parts/cluster.js";
import type { CentralAnswer } from "#core/server/plugins/central.js";
import type { ClusterReport } from "#core/server/worker-report.js";
import type { WorkerLoad } from "#core/session/registry/capacity.js";
import { watchParent } from "#core/session/watchdog.js";
import { LISTEN_BACKLOG, type UpgradeRequest } from "#parts/sockets";
import { forwardRequest, readForwarded } from "./forward.js";
import {
  type ClusterPeer,
  opensSession,
  type SupervisorMessage,
  socketPath,
  type UpgradeEnvelope,
  WORKER_NUMBER,
  WORKER_PORT,
  WORKER_SOCKETS,
  type WorkerMessage,
  type WorkerRequest,
} from "./messages.js";
import { hasRoom, roomElsewhere, shouldHandOff, surplus } from "./placement.js";
import { stillSocket } from "./still-socket.js";

/** Changes of the load within this time are reported together: each report wakes the supervisor and all workers. */
const REPORT_MS = 50;
/** The same for a worker that is almost full, whose peers must know soon whether it has room. */
const REPORT_FULL_MS = 5;
const ALMOST_FULL = 0.9;

let found: Promise<Cluster> | undefined;

export const findCluster: ClusterPart["findCluster"] = async () => {
  const number = process.env[WORKER_NUMBER];
  const folder = process.env[WORKER_SOCKETS];
  if (number === undefined || folder === undefined) return undefined;
  found ??= watchParent({ parent: process.ppid, folder }).then(() => new WorkerCluster(Number(number), folder));
  return found;
};

class WorkerCluster implements Cluster {
  readonly idPrefix: string;
  readonly number: number;
  readonly #folder: string;
  readonly #requests = new Map<number, (answer: unknown) => void>();
  #server: ClusterServer | undefined;
  /** Messages that arrived before the server existed: it needs them before it listens and sessions arrive. */
  readonly #early: SupervisorMessage[] = [];
  #peers: ClusterPeer[] = [];
  /** All workers with sessions, also those that accept no new ones. */
  #owners: number[] = [];
  /** Number of sockets to pass on before the next report of the others. */
  #surplus = 0;
  #accepted = 0;
  /** Addresses for which this worker offered to open the session, and awaits the supervisor's answer. */
  #offered = 0;
  #reporting = false;
  #lastRequest = 0;

  constructor(number: number, folder: string) {
    this.number = number;
    this.#folder = folder;
    this.idPrefix = `w${number}-`;
    process.on("message", (message: SupervisorMessage, socket?: Socket) => this.#onMessage(message, socket));
    sendToSupervisor({ type: "listening" });
  }

  listen(server: Server, host: string): Promise<number> {
    const port = Number(process.env[WORKER_PORT]);
    return new Promise((resolve, reject) => {
      server.once("error", (error: NodeJS.ErrnoException) => {
        const message = listenProblem(error, host, port);
        const problem = new ConfigError(message);
        void reportFailure(problem);
        reject(problem);
      });
      // In a worker of node:cluster, this returns the listening handle that all workers share.
      server.listen(port, host, LISTEN_BACKLOG, () => resolve((server.address() as AddressInfo).port));
    });
  }

  async join(server: ClusterServer): Promise<void> {
    this.#server = server;
    for (const message of this.#early.splice(0)) this.#onMessage(message, undefined);
    // Slurm or a terminal signals every process of a group: the supervisor decides when this one ends.
    for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(signal, () => {});
    // node:cluster ends a worker whose supervisor is gone; then no other process can remove the folder.
    process.once("exit", () => {
      if (!process.connected) rmSync(this.#folder, { recursive: true, force: true });
    });
    const local = createServer((request, response) => server.handle(readForwarded(request), response));
    // Readable only by this user. The supervisor only chose the name: if it is killed early, there is no folder.
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    const path = socketPath(this.#folder, this.number);
    await new Promise<void>((resolve) => local.listen({ path, exclusive: true, backlog: LISTEN_BACKLOG }, resolve));
    local.unref();
    // A forwarded request that cannot be accepted is the sender's failure; this worker continues.
    local.on("error", () => {});
    this.#reportLoad();
    sendToSupervisor({ type: "ready", about: server.about });
  }

  changed(): void {
    if (this.#reporting || this.#server === undefined) return;
    this.#reporting = true;
    const { active, max, waiting } = this.#server.load();
    const isAlmostFull = active >= max * ALMOST_FULL || waiting > 0;
    setTimeout(
      () => {
        this.#reporting = false;
        this.#reportLoad();
      },
      isAlmostFull ? REPORT_FULL_MS : REPORT_MS,
    ).unref();
  }

  loads(): WorkerLoad[] {
    const others = this.#peers.map(({ load }) => load);
    return this.#server ? [...others, this.#server.load()] : others;
  }

  async sessions(): Promise<SessionInfo[]> {
    return (await this.#request({ what: "sessions" })) as SessionInfo[];
  }

  async pause(paused: boolean): Promise<void> {
    await this.#request({ what: "pause", paused });
  }

  async reports(query: SessionQuery): Promise<ClusterReport> {
    return (await this.#request({ what: "report", query })) as ClusterReport;
  }

  async askCentral(plugin: string, message: unknown): Promise<CentralAnswer> {
    return (await this.#request({ what: "central", plugin, message })) as CentralAnswer;
  }

  workerOf(sessionId: string): number | undefined {
    const owner = /^w(\d+)-/.exec(sessionId)?.[1];
    return this.#owners.find((number) => number === Number(owner));
  }

  async workerWith(id: string): Promise<number | undefined> {
    const worker = (await this.#request({ what: "holder", id })) as number | undefined;
    return worker === this.number ? undefined : worker;
  }

  async workerAt(address: string): Promise<number | undefined> {
    if (this.#server?.hasAddress(address)) return undefined;
    const opens = !this.shouldHandOff();
    this.#offered += Number(opens);
    // The supervisor chooses another worker for a full one by what they last reported.
    if (!opens) this.#reportLoad();
    const owner = (await this.#request({ what: "owner", address, asking: this.number, opens })) as number | undefined;
    this.#offered -= Number(opens);
    return owner === this.number ? undefined : owner;
  }

  withRoom(): number | undefined {
    const own = this.#load();
    return own && roomElsewhere(own, this.#peers)?.number;
  }

  shouldHandOff(): boolean {
    const own = this.#load();
    if (own === undefined) return false;
    if (!hasRoom(own)) return shouldHandOff(own, this.#peers);
    return this.#surplus-- > 0;
  }

  handOff({ request, socket, head }: { request: UpgradeRequest; socket: Duplex; head: Buffer }, owner?: number): void {
    const tried = owner === undefined && this.#isFull() ? [this.number] : [];
    const envelope: UpgradeEnvelope = {
      url: request.url ?? "/",
      headers: request.headers,
      head: head.toString("base64"),
      tried,
      ...(owner === undefined ? {} : { owner }),
    };
    this.#handOffSurplus(envelope, socket as Socket);
  }

  forward(owner: number, request: ForwardedRequest): void {
    forwardRequest(socketPath(this.#folder, owner), request);
  }

  #onMessage(message: SupervisorMessage, socket: Socket | undefined): void {
    // A plugin may wait for it before the server exists.
    if (message.type === "reply") {
      this.#requests.get(message.id)?.(message.answer);
      this.#requests.delete(message.id);
      return;
    }
    const server = this.#server;
    if (server === undefined) {
      this.#early.push(message);
      return;
    }
    switch (message.type) {
      case "ping":
        this.#reportLoad();
        return;
      case "peers":
        this.#updatePeers(message.peers);
        return;
      case "upgrade":
        this.#updatePeers(message.peers);
        if (opensSession(message)) this.#accepted++;
        if (socket !== undefined) this.#accept(server, socket, message);
        return;
      case "request":
        void answer(server, message.about, this.number).then((answered) =>
          sendToSupervisor({ type: "reply", id: message.id, answer: answered }),
        );
        return;
      case "drain":
        server.drain();
        return;
      case "reread-tokens":
        server.rereadTokens();
        return;
      case "retire":
        void server.retire(message.limitMs).then(() => process.exit(0));
        return;
      case "stop":
        void server.close().then(() => process.exit(0));
        return;
    }
  }

  /** Sends a request to all workers, through the supervisor. */
  #request(about: WorkerRequest): Promise<unknown> {
    const id = ++this.#lastRequest;
    sendToSupervisor({ type: "request", id, about });
    return new Promise((resolve) => this.#requests.set(id, resolve));
  }

  #accept(
    server: ClusterServer,
    socket: Socket,
    { envelope, last }: { envelope: UpgradeEnvelope; last: boolean },
  ): void {
    if (envelope.owner === undefined && !last && this.#isFull()) {
      this.#handOffSurplus({ ...envelope, tried: [...envelope.tried, this.number] }, socket);
      return;
    }
    const { url, headers } = envelope;
    server.upgrade({ method: "GET", url, headers }, socket, Buffer.from(envelope.head, "base64"));
    socket.resume();
  }

  #updatePeers(peers: readonly ClusterPeer[]): void {
    const others = peers.filter(({ number }) => number !== this.number);
    this.#owners = others.map(({ number }) => number);
    this.#peers = others.filter(({ retiring }) => !retiring);
    const own = peers.find(({ number }) => number === this.number);
    this.#surplus = own === undefined ? 0 : surplus(own.load, this.#peers);
  }

  /** Sends the load first, so that the supervisor knows that this worker is full before it selects another. */
  #handOffSurplus(envelope: UpgradeEnvelope, socket: Socket): void {
    this.#reportLoad();
    sendToSupervisor({ type: "upgrade", envelope }, socket);
  }

  #load(): WorkerLoad | undefined {
    const load = this.#server?.load();
    return load && { ...load, active: load.active + this.#offered };
  }

  #isFull(): boolean {
    const load = this.#load();
    return load !== undefined && !hasRoom(load) && load.unclaimed === 0;
  }

  #reportLoad(): void {
    const load = this.#load();
    if (load !== undefined && this.#server !== undefined)
      sendToSupervisor({ type: "load", load, inUse: this.#server.inUse(), taken: this.#accepted });
  }
}

export const reportFailure: ClusterPart["reportFailure"] = (error) => {
  const message = error instanceof Error ? error.message : String(error);
  const failed: WorkerMessage = { type: "failed", message, isConfig: error instanceof ConfigError };
  return new Promise((resolve) => {
    if (process.connected) process.send?.(failed, undefined, {}, () => resolve());
    else resolve();
  });
};

async function answer(server: ClusterServer, about: WorkerRequest, own: number): Promise<unknown> {
  switch (about.what) {
    case "sessions":
      return server.list();
    case "report":
      return server.report(about.query);
    case "pause":
      return server.pause(about.paused);
    case "holder":
      return server.hasSession(about.id) ? own : undefined;
    case "has":
      return server.hasAddress(about.address);
    case "lost":
      return server.loseAddress(about.address);
  }
}

function sendToSupervisor(message: WorkerMessage, socket?: Socket): void {
  if (process.connected) process.send?.(message, socket && stillSocket(socket), {}, () => {});
}
