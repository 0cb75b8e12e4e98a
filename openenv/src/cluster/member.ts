import { mkdirSync, rmSync } from "node:fs";
import type { IncomingMessage, Server } from "node:http";
import { createServer } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";
import { ConfigError } from "../errors.js";
import type { SessionInfo } from "../protocol/http.js";
import type { SessionQuery } from "../protocol/session-query.js";
import { LISTEN_BACKLOG, listenProblem } from "../server/lifecycle/listen-problem.js";
import type { Fleet, FleetServer, ForwardedExchange, Load } from "../session/registry/fleet.js";
import type { FleetReport } from "../session/statistics/worker-report.js";
import { watchParent } from "../session/watchdog.js";
import { forwardRequest } from "./forward.js";
import {
  type Member,
  opensSession,
  type Question,
  type SupervisorMessage,
  socketPath,
  type UpgradeEnvelope,
  WORKER_NUMBER,
  WORKER_PORT,
  WORKER_SOCKETS,
  type WorkerMessage,
} from "./messages.js";
import { hasRoom, roomElsewhere, shouldGiveUp, surplus } from "./placement.js";
import { stillSocket } from "./still-socket.js";

/** Changes of the load within this time are told at once. */
const TELL_MS = 5;

let found: Promise<Fleet> | undefined;

/**
 * The fleet as this process sees it, when a supervisor has started it as a worker. With the first call it listens to the
 * supervisor, and ends soon after it, even in an endless loop.
 */
export async function findFleet(): Promise<Fleet | undefined> {
  const number = process.env[WORKER_NUMBER];
  const folder = process.env[WORKER_SOCKETS];
  if (number === undefined || folder === undefined) return undefined;
  found ??= watchParent({ parent: process.ppid, folder }).then(() => new WorkerFleet(Number(number), folder));
  return found;
}

class WorkerFleet implements Fleet {
  readonly idPrefix: string;
  readonly number: number;
  readonly #folder: string;
  readonly #questions = new Map<number, (answer: unknown) => void>();
  #server: FleetServer | undefined;
  /** What came before there was a server: it may take sessions from the moment it listens, and must know by then. */
  readonly #early: SupervisorMessage[] = [];
  #others: Member[] = [];
  /** Those that take nothing new, too. */
  #owners: number[] = [];
  /** Sockets to pass on before the next news of the others. */
  #surplus = 0;
  #taken = 0;
  #telling = false;
  #asked = 0;

  constructor(number: number, folder: string) {
    this.number = number;
    this.#folder = folder;
    this.idPrefix = `w${number}-`;
    process.on("message", (message: SupervisorMessage, socket?: Socket) => this.#hear(message, socket));
    tell({ type: "hears" });
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
      // In a worker of node:cluster this is the listening handle that all workers share.
      server.listen(port, host, LISTEN_BACKLOG, () => resolve((server.address() as AddressInfo).port));
    });
  }

  async join(server: FleetServer): Promise<void> {
    this.#server = server;
    for (const message of this.#early.splice(0)) this.#hear(message, undefined);
    // Slurm, or a terminal, signals every process of a group: when this one ends is the supervisor's to say.
    for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(signal, () => {});
    // node:cluster ends a worker whose supervisor is gone; no other process can remove the folder then.
    process.once("exit", () => {
      if (!process.connected) rmSync(this.#folder, { recursive: true, force: true });
    });
    const local = createServer((request, response) => server.handle(request, response));
    // Readable by this user only. The supervisor has only chosen the name: if it is killed early, there is no folder.
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    const path = socketPath(this.#folder, this.number);
    await new Promise<void>((resolve) => local.listen({ path, exclusive: true, backlog: LISTEN_BACKLOG }, resolve));
    local.unref();
    // A forwarded request that cannot be accepted is the forwarder's failure; this worker goes on.
    local.on("error", () => {});
    this.#tellLoad();
    tell({ type: "ready", about: server.about });
  }

  changed(): void {
    if (this.#telling || this.#server === undefined) return;
    this.#telling = true;
    setTimeout(() => {
      this.#telling = false;
      this.#tellLoad();
    }, TELL_MS).unref();
  }

  loads(): Load[] {
    const others = this.#others.map(({ load }) => load);
    return this.#server ? [...others, this.#server.load()] : others;
  }

  async sessions(): Promise<SessionInfo[]> {
    return (await this.#ask({ what: "sessions" })) as SessionInfo[];
  }

  async pause(paused: boolean): Promise<void> {
    await this.#ask({ what: "pause", paused });
  }

  async reports(query: SessionQuery): Promise<FleetReport> {
    return (await this.#ask({ what: "report", query })) as FleetReport;
  }

  ownerOf(sessionId: string): number | undefined {
    const owner = /^w(\d+)-/.exec(sessionId)?.[1];
    return this.#owners.find((number) => number === Number(owner));
  }

  withRoom(): number | undefined {
    return this.#server && roomElsewhere(this.#server.load(), this.#others)?.number;
  }

  shouldPassOn(): boolean {
    const own = this.#server?.load();
    if (own === undefined) return false;
    if (!hasRoom(own)) return shouldGiveUp(own, this.#others);
    return this.#surplus-- > 0;
  }

  passOn({ request, socket, head }: { request: IncomingMessage; socket: Duplex; head: Buffer }, owner?: number): void {
    const tried = owner === undefined && this.#isFull() ? [this.number] : [];
    const envelope: UpgradeEnvelope = {
      url: request.url ?? "/",
      headers: request.headers,
      head: head.toString("base64"),
      tried,
      ...(owner === undefined ? {} : { owner }),
    };
    this.#giveAway(envelope, socket as Socket);
  }

  forward(owner: number, exchange: ForwardedExchange): void {
    forwardRequest(socketPath(this.#folder, owner), exchange);
  }

  #hear(message: SupervisorMessage, socket: Socket | undefined): void {
    const server = this.#server;
    if (server === undefined) {
      this.#early.push(message);
      return;
    }
    switch (message.type) {
      case "ping":
        this.#tellLoad();
        return;
      case "members":
        this.#meet(message.members);
        return;
      case "upgrade":
        this.#meet(message.members);
        if (opensSession(message)) this.#taken++;
        if (socket !== undefined) this.#take(server, socket, message);
        return;
      case "ask":
        void answer(server, message.about).then((told) =>
          tell({ type: "told", question: message.question, answer: told }),
        );
        return;
      case "told":
        this.#questions.get(message.question)?.(message.answer);
        this.#questions.delete(message.question);
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

  /** Asks all workers, by way of the supervisor. */
  #ask(about: Question): Promise<unknown> {
    const question = ++this.#asked;
    tell({ type: "ask", question, about });
    return new Promise((resolve) => this.#questions.set(question, resolve));
  }

  #take(server: FleetServer, socket: Socket, { envelope, last }: { envelope: UpgradeEnvelope; last: boolean }): void {
    if (envelope.owner === undefined && !last && this.#isFull()) {
      this.#giveAway({ ...envelope, tried: [...envelope.tried, this.number] }, socket);
      return;
    }
    const { url, headers } = envelope;
    const request = { method: "GET", url, headers, socket } as unknown as IncomingMessage;
    server.upgrade(request, socket, Buffer.from(envelope.head, "base64"));
    socket.resume();
  }

  #meet(members: readonly Member[]): void {
    const others = members.filter(({ number }) => number !== this.number);
    this.#owners = others.map(({ number }) => number);
    this.#others = others.filter(({ retiring }) => !retiring);
    const own = members.find(({ number }) => number === this.number);
    this.#surplus = own === undefined ? 0 : surplus(own.load, this.#others);
  }

  /** Told together with the load, so that the supervisor knows that this one is full before it looks for another. */
  #giveAway(envelope: UpgradeEnvelope, socket: Socket): void {
    this.#tellLoad();
    tell({ type: "upgrade", envelope }, socket);
  }

  #isFull(): boolean {
    const load = this.#server?.load();
    return load !== undefined && !hasRoom(load) && load.unclaimed === 0;
  }

  #tellLoad(): void {
    const server = this.#server;
    if (server !== undefined) tell({ type: "load", load: server.load(), inUse: server.inUse(), taken: this.#taken });
  }
}

/** Reports to the supervisor why this worker cannot serve. Resolves when the message has been sent. */
export function reportFailure(error: unknown): Promise<void> {
  const message = error instanceof Error ? error.message : String(error);
  const failed: WorkerMessage = { type: "failed", message, isConfig: error instanceof ConfigError };
  return new Promise((resolve) => {
    if (process.connected) process.send?.(failed, undefined, {}, () => resolve());
    else resolve();
  });
}

async function answer(server: FleetServer, about: Question): Promise<unknown> {
  switch (about.what) {
    case "sessions":
      return server.list();
    case "report":
      return server.report(about.query);
    case "pause":
      return server.pause(about.paused);
  }
}

function tell(message: WorkerMessage, socket?: Socket): void {
  if (process.connected) process.send?.(message, socket && stillSocket(socket), {}, () => {});
}
