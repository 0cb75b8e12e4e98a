import cluster from "node:cluster";
import { rm } from "node:fs/promises";
import type { Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { ConfigError } from "#core/errors.js";
import type { ServerCapacityStatus, SessionInfo } from "#core/protocol/http.js";
import type { SessionQuery } from "#core/protocol/session-query.js";
import type { ServerAbout } from "#core/server/cluster.js";
import { findAddress } from "#core/server/http/address.js";
import { quietFor } from "#core/server/lifecycle/drain.js";
import type { WorkerProgram } from "#core/server/parts/cluster.js";
import type { Central } from "#core/server/plugins/central.js";
import type { ClusterReport, WorkerReport } from "#core/server/worker-report.js";
import { totalCapacity } from "#core/session/registry/capacity.js";
import type { Log } from "#core/util/log.js";
import { rejectUpgrade } from "#parts/sockets";
import { AddressOwners } from "./address-owners.js";
import { type ClusterPeer, socketPath, type UpgradeEnvelope, type WorkerRequest } from "./messages.js";
import { leastLoaded } from "./placement.js";
import { RestartBackoff } from "./restart-backoff.js";
import { chooseFolder, removeLeftFolders } from "./socket-folder.js";
import { type WorkerEvent, WorkerProcess } from "./worker-process.js";

export interface SupervisorOptions {
  workers: number;
  /** Limit of the heap of each worker in megabytes; undefined for that of Node. */
  heapMb?: number | undefined;
  /** The port that all workers share. */
  port: number;
  log: Log;
  /** Milliseconds that sessions get when their worker is stopped or replaced. */
  graceMs: number;
  /** Milliseconds that {@link Supervisor.drain} gives sessions to finish. */
  drainMs: number;
  /** Milliseconds without an answer to a ping after which a worker counts as hung and is replaced. */
  hangMs: number;
  /** The parts of plugins that all workers share. */
  central: Central;
}

const PEERS_MS = 20;
/** The longest time between pings. */
const PING_MS = 500;
/** The time that a worker gets in addition to that of its sessions, before it is killed. */
const STOP_MS = 5_000;
/** The limit for a starting worker is this many times longer: it loads the author's imports. */
const START_LIMIT = 10;

/** Keeps a number of workers running behind one address. Serves nothing itself. */
export class Supervisor {
  readonly #options: SupervisorOptions;
  readonly #workers = new Map<number, WorkerProcess>();
  readonly #timers: NodeJS.Timeout[] = [];
  readonly #folder = chooseFolder();
  #about: ServerAbout | undefined;
  #numbers = 0;
  readonly #backoff = new RestartBackoff();
  readonly #owners = new AddressOwners(this.#workers, () => leastLoaded(this.#accepting()));
  #peersDue = false;
  #draining = false;
  #paused = false;
  #replacing: Promise<void> | undefined;
  #closing = false;
  #started: { resolve(): void; reject(error: Error): void } | undefined;

  constructor(options: SupervisorOptions) {
    this.#options = options;
  }

  /** The first worker's description of the server; undefined before it is ready. */
  get about(): ServerAbout | undefined {
    return this.#about;
  }

  /** Resolves when all workers listen. @throws ConfigError when one cannot start. */
  async start(program?: WorkerProgram): Promise<void> {
    cluster.schedulingPolicy = cluster.SCHED_NONE;
    const { heapMb } = this.#options;
    // V8 reads the limit at the start of a process: v8.setFlagsFromString() has no effect on it later.
    const limit =
      heapMb === undefined ? undefined : { execArgv: [...process.execArgv, `--max-old-space-size=${heapMb}`] };
    cluster.setupPrimary({ ...program, ...limit });
    const pingMs = Math.min(PING_MS, this.#options.hangMs / 4);
    this.#timers.push(setInterval(() => this.#replaceHung(pingMs), pingMs));
    const started = new Promise<void>((resolve, reject) => {
      this.#started = { resolve, reject };
    });
    for (let i = 0; i < this.#options.workers; i++) this.#fork();
    void removeLeftFolders();
    try {
      await started;
    } catch (error) {
      await this.close();
      throw error;
    } finally {
      this.#started = undefined;
    }
  }

  capacity(): ServerCapacityStatus {
    return totalCapacity(this.#accepting().map(({ load }) => load));
  }

  /** The sessions of all workers; a worker that does not answer within a second is omitted. */
  async sessions(): Promise<SessionInfo[]> {
    return ((await this.#askAll({ what: "sessions" })) as SessionInfo[][]).flat();
  }

  /** The reports of all workers; a worker that does not answer within a second is silent. */
  async reports(query: SessionQuery): Promise<ClusterReport> {
    const serving = [...this.#workers.values()].filter(({ state }) => state === "ready" || state === "hung");
    const reports = (await this.#askAll({ what: "report", query })) as WorkerReport[];
    const answered = new Set(reports.map(({ worker }) => worker.worker));
    const silent = serving.filter(({ number, state }) => state !== "gone" && !answered.has(number));
    return {
      reports,
      silent: silent.map((worker) => worker.silence()),
      restarts: this.#backoff.count,
      lost: this.#backoff.recent,
    };
  }

  /**
   * Replaces all workers, one after the other; their sessions get the drain time, or the grace period. A second call
   * during the replacement does not start a new one.
   */
  replaceAll(): Promise<void> {
    // The old workers still serve their sessions for a while: they must not accept a revoked token.
    for (const worker of this.#workers.values()) worker.send({ type: "reread-tokens" });
    this.#replacing ??= this.#replaceStaying().finally(() => {
      this.#replacing = undefined;
    });
    return this.#replacing;
  }

  async #replaceStaying(): Promise<void> {
    for (const old of [...this.#workers.values()]) {
      // close() would not end a worker that starts now.
      if (this.#closing) return;
      if (old.retiring || old.state === "hung" || old.state === "gone") continue;
      const fresh = await this.#startOne();
      if (fresh.state !== "ready") {
        if (!this.#closing) this.#options.log.error({}, "a new worker did not start; keeping the old ones");
        return;
      }
      old.retiring = true;
      this.#sendPeers();
      old.send({ type: "retire", limitMs: Math.max(this.#options.drainMs, this.#options.graceMs) });
    }
  }

  /** Lets the sessions of all workers finish before it closes. The workers end together: an address has one health. */
  async drain(): Promise<void> {
    const deadline = performance.now() + this.#options.drainMs;
    const isInUse = (): boolean => [...this.#workers.values()].some(({ inUse }) => inUse > 0);
    this.#draining = true;
    for (const worker of this.#workers.values()) worker.send({ type: "drain" });
    const isQuiet = quietFor(this.#options.drainMs);
    while (!isQuiet(isInUse()) && !this.#closing && performance.now() < deadline) await sleep(PEERS_MS);
    if (this.#closing) return;
    const limitMs = Math.max(0, deadline - performance.now());
    await this.#end({ type: "retire", limitMs }, limitMs);
  }

  /** Ends all workers, also during a drain. */
  close(): Promise<void> {
    return this.#end({ type: "stop" }, 0);
  }

  async #end(how: Parameters<WorkerProcess["end"]>[0], waitMs: number): Promise<void> {
    this.#closing = true;
    for (const timer of this.#timers.splice(0)) clearInterval(timer);
    const limitMs = waitMs + this.#options.graceMs + STOP_MS;
    await Promise.all([...this.#workers.values()].map((worker) => worker.end(how, limitMs)));
    await rm(this.#folder, { recursive: true, force: true });
  }

  #fork(): WorkerProcess {
    const worker = new WorkerProcess(
      this.#numbers++,
      { folder: this.#folder, port: this.#options.port },
      {
        message: (from, message, socket) => this.#onMessage(from, message, socket),
        exit: (from, reason, served) => this.#lose(from, reason, served),
      },
    );
    this.#workers.set(worker.number, worker);
    return worker;
  }

  #onMessage(from: WorkerProcess, message: WorkerEvent, socket: Socket | undefined): void {
    switch (message.type) {
      case "listening":
        if (this.#paused) void from.request({ what: "pause", paused: true });
        return;
      case "ready":
        from.state = "ready";
        this.#about ??= message.about;
        if (this.#draining) from.send({ type: "drain" });
        this.#sendPeers();
        if (this.#accepting().length >= this.#options.workers) this.#started?.resolve();
        return;
      case "failed":
        return this.#onFailure(from, message);
      case "load":
        from.onLoad(message);
        return this.#sendPeersSoon();
      case "upgrade":
        if (socket !== undefined) this.#place(message.envelope, socket);
        return;
      case "request":
        void this.#answer(message.about, from).then((answer) => from.send({ type: "reply", id: message.id, answer }));
        return;
    }
  }

  /** Fails the start if not all workers are ready yet; later, the next worker is tried. */
  #onFailure({ number }: WorkerProcess, { message, isConfig }: Extract<WorkerEvent, { type: "failed" }>): void {
    if (this.#started !== undefined) {
      this.#started.reject(isConfig ? new ConfigError(message) : new Error(message));
    } else if (!this.#closing) {
      this.#options.log.error({ worker: number, reason: message }, "a worker failed to start");
    }
  }

  /** Finds a worker for a socket that another one passed on. */
  #place(envelope: UpgradeEnvelope, socket: Socket): void {
    const peers = this.#peers();
    const taking = this.#accepting();
    const untried = taking.filter(({ number }) => !envelope.tried.includes(number));
    const owner = peers.find(({ number }) => number === envelope.owner);
    if (envelope.owner !== undefined && owner === undefined && hasSessionAddress(envelope)) {
      // Another worker would open a new session; at the next connection it learns that this one was lost.
      rejectUpgrade(socket, "503 Service Unavailable", "the worker of this session has just ended: connect again");
      return;
    }
    const chosen = owner ?? leastLoaded(untried.length > 0 ? untried : taking);
    const worker = chosen && this.#workers.get(chosen.number);
    if (chosen === undefined || worker === undefined) {
      rejectUpgrade(socket, "503 Service Unavailable", "no worker can accept a connection: try again later");
      return;
    }
    worker.handOver({ type: "upgrade", envelope, last: untried.length === 0, peers }, socket);
  }

  #lose(worker: WorkerProcess, reason: string, served: boolean): void {
    this.#workers.delete(worker.number);
    this.#options.central.workerEnded(worker.number);
    // A killed worker leaves its socket file behind.
    void rm(socketPath(this.#folder, worker.number), { force: true });
    this.#sendPeers();
    if (this.#closing || worker.retiring) return;
    if (this.#started !== undefined) {
      this.#started.reject(new ConfigError(`A worker exited before it was ready (${reason}); see its output.`));
      return;
    }
    const delay = this.#backoff.add(worker, reason, served);
    const lost = { worker: worker.number, reason, sessions: worker.load.active, delay };
    this.#options.log.error(lost, "a worker exited; starting a new one");
    setTimeout(() => {
      // If a new worker failed to replace an old one, the old one stays: nothing is missing.
      const staying = [...this.#workers.values()].filter(({ retiring }) => !retiring);
      if (!this.#closing && staying.length < this.#options.workers) this.#fork();
    }, delay).unref();
  }

  /**
   * The time is counted in timer ticks of this process: a pause of the whole machine, or a clock change, is one tick at
   * most, and workers have the next ones to answer.
   */
  #replaceHung(turnMs: number): void {
    for (const worker of [...this.#workers.values()]) {
      if (worker.state === "hung" || worker.state === "gone") continue;
      const silentMs = Math.round(worker.ping() * turnMs);
      if (worker.state === "starting" && silentMs >= this.#options.hangMs * START_LIMIT) {
        this.#options.log.error({ worker: worker.number, silentMs }, "a worker did not start in time; killing it");
        worker.kill();
      } else if (worker.state === "ready" && silentMs >= this.#options.hangMs) {
        this.#options.log.error({ worker: worker.number, silentMs }, "a worker does not respond; replacing it");
        void this.#replace(worker);
      }
    }
  }

  /** Kills it once another one listens: the port stays open, so new connections wait instead of being refused. */
  async #replace(hung: WorkerProcess): Promise<void> {
    hung.state = "hung";
    this.#sendPeers();
    if (!this.#closing && !hung.retiring) await this.#startOne();
    hung.kill();
  }

  /** Starts a worker. Resolves when it is ready or has ended, or the supervisor is closing. */
  async #startOne(): Promise<WorkerProcess> {
    const fresh = this.#fork();
    while (fresh.state === "starting" && !this.#closing) await sleep(10);
    return fresh;
  }

  #peers(): ClusterPeer[] {
    const ready = [...this.#workers.values()].filter(({ state }) => state === "ready");
    return ready.map(({ number, load, due, retiring }) => ({ number, load, due, retiring }));
  }

  #accepting(): ClusterPeer[] {
    return this.#peers().filter(({ retiring }) => !retiring);
  }

  #sendPeersSoon(): void {
    if (this.#peersDue) return;
    this.#peersDue = true;
    setTimeout(() => this.#sendPeers(), PEERS_MS).unref();
  }

  #sendPeers(): void {
    this.#peersDue = false;
    const peers = this.#peers();
    for (const worker of this.#workers.values()) worker.send({ type: "peers", peers });
  }

  #answer(about: WorkerRequest, { number }: WorkerProcess): Promise<unknown> {
    switch (about.what) {
      case "sessions":
        return this.sessions();
      case "report":
        return this.reports(about.query);
      case "pause":
        this.#paused = about.paused;
        return this.#askAll(about, ["ready", "starting"]);
      case "holder":
        return this.#askAll(about).then(([worker]) => worker);
      case "owner":
        return this.#owners.find(about);
      case "central":
        return this.#options.central.answer(about.plugin, about.message, number);
      default:
        return Promise.resolve(undefined);
    }
  }

  async #askAll(about: WorkerRequest, states: WorkerProcess["state"][] = ["ready"]): Promise<unknown[]> {
    const targets = [...this.#workers.values()].filter(({ state }) => states.includes(state));
    const answers = await Promise.all(targets.map((worker) => worker.request(about)));
    return answers.filter((answer) => answer !== undefined);
  }
}

function hasSessionAddress({ url, headers }: UpgradeEnvelope): boolean {
  return findAddress(url.split("?", 1)[0] as string, headers) !== undefined;
}
