import cluster, { type Worker } from "node:cluster";
import type { Socket } from "node:net";
import type { ServerViewSilentWorker } from "../protocol/web.js";
import type { WorkerLoad } from "../session/registry/cluster.js";
import {
  opensSession,
  type SupervisorMessage,
  WORKER_NUMBER,
  WORKER_PORT,
  WORKER_SOCKETS,
  type WorkerMessage,
  type WorkerRequest,
} from "./messages.js";
import { stillSocket } from "./still-socket.js";

/** What a worker says by itself. */
export type WorkerEvent = Exclude<WorkerMessage, { type: "reply" }>;

export interface WorkerHandlers {
  message(worker: WorkerProcess, message: WorkerEvent, socket: Socket | undefined): void;
  /** `served`: it was ready once. */
  exit(worker: WorkerProcess, reason: string, served: boolean): void;
}

const REQUEST_LIMIT_MS = 1_000;

/** One worker as its supervisor holds it. */
export class WorkerProcess {
  readonly number: number;
  readonly startedAt = performance.now();
  #reported: WorkerLoad = { active: 0, unclaimed: 0, max: 0, waiting: 0, queueSize: 0 };
  #inUse = 0;
  /** Sockets that were given to it, and those it has said that it took. */
  #handedOver = 0;
  #accepted = 0;
  /** `hung`: it answers no ping and will be killed; its sessions are lost. */
  state: "starting" | "ready" | "hung" | "gone" = "starting";
  /** Takes nothing new and is not replaced when it ends. */
  retiring = false;
  readonly #worker: Worker;
  #unanswered = 0;
  #lastMessageAt = performance.now();
  #lastRequest = 0;
  readonly #requests = new Map<number, (answer: unknown) => void>();
  readonly #gone: Promise<void>;

  constructor(number: number, place: { folder: string; port: number }, handlers: WorkerHandlers) {
    this.number = number;
    this.#worker = cluster.fork({
      [WORKER_NUMBER]: String(number),
      [WORKER_SOCKETS]: place.folder,
      [WORKER_PORT]: String(place.port),
    });
    this.#worker.on("message", (message: WorkerMessage, socket?: Socket) => {
      this.#unanswered = 0;
      this.#lastMessageAt = performance.now();
      if (message.type === "reply") this.#requests.get(message.id)?.(message.answer);
      else handlers.message(this, message, socket);
    });
    this.#gone = new Promise((resolve) => {
      const end = (reason: string): void => {
        const served = this.state !== "starting";
        this.state = "gone";
        handlers.exit(this, reason, served);
        resolve();
      };
      this.#worker.once("exit", (code, signal) => end(signal ?? `exit code ${code}`));
      this.#worker.on("error", (error) => {
        // A channel that breaks is followed by the exit, which says it better. What never ran has no exit.
        if (this.#worker.process.pid === undefined && this.state !== "gone") end(error.message);
      });
    });
  }

  /** With the sockets that are on their way to it. */
  get load(): WorkerLoad {
    return { ...this.#reported, active: this.#reported.active + this.#handedOver - this.#accepted };
  }

  /** Sessions that are used or waited for, with the sockets that are on their way to it. */
  get inUse(): number {
    return this.#inUse + this.#handedOver - this.#accepted;
  }

  /** What is known of it while it does not answer. */
  silence(): ServerViewSilentWorker {
    const { active, max } = this.load;
    const silent_s = (performance.now() - this.#lastMessageAt) / 1000;
    return { worker: this.number, pid: this.#worker.process.pid ?? 0, sessions: active, max_sessions: max, silent_s };
  }

  onLoad({ load, inUse, taken }: Extract<WorkerMessage, { type: "load" }>): void {
    this.#reported = load;
    this.#inUse = inUse;
    this.#accepted = taken;
  }

  handOver(message: Extract<SupervisorMessage, { type: "upgrade" }>, socket: Socket): void {
    if (opensSession(message)) this.#handedOver++;
    this.send(message, socket);
  }

  send(message: SupervisorMessage, socket?: Socket): void {
    if (this.#worker.isConnected()) this.#worker.send(message, socket && stillSocket(socket), () => {});
    else socket?.destroy();
  }

  /** Asks for a sign of life. Returns how many times in a row that was asked and nothing has come. */
  ping(): number {
    if (this.#unanswered === 0 && this.state === "ready") this.send({ type: "ping" });
    return this.#unanswered++;
  }

  /** Undefined when no answer comes in a second. */
  request(about: WorkerRequest): Promise<unknown> {
    const id = ++this.#lastRequest;
    return new Promise((resolve) => {
      const done = (answer?: unknown): void => {
        clearTimeout(timer);
        this.#requests.delete(id);
        resolve(answer);
      };
      const timer = setTimeout(done, REQUEST_LIMIT_MS);
      this.#requests.set(id, done);
      this.send({ type: "request", id, about });
    });
  }

  /** Ends it: asks first, kills after `limitMs`. */
  async end(how: Extract<SupervisorMessage, { type: "retire" | "stop" }>, limitMs: number): Promise<void> {
    // One that does not serve yet does not listen to messages either.
    if (this.state === "starting") this.kill();
    else this.send(how);
    const timer = setTimeout(() => this.kill(), limitMs);
    await this.#gone;
    clearTimeout(timer);
  }

  kill(): void {
    this.#worker.process.kill("SIGKILL");
  }
}
