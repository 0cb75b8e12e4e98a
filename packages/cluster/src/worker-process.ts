import cluster, { type Worker } from "node:cluster";
import type { Socket } from "node:net";
import type { ServerViewSilentWorker } from "#core/protocol/web.js";
import type { WorkerLoad } from "#core/session/registry/capacity.js";
import {
  opensSession,
  type SupervisorMessage,
  WORKER_NUMBER,
  WORKER_PORT,
  WORKER_SOCKETS,
  type WorkerMessage,
  type WorkerRequest,
} from "./messages.js";
import { handleOf, stillSocket } from "./still-socket.js";

/** A message of a worker that is not a reply. */
export type WorkerEvent = Exclude<WorkerMessage, { type: "reply" }>;

export interface WorkerHandlers {
  message(worker: WorkerProcess, message: WorkerEvent, socket: Socket | undefined): void;
  /** `served`: whether it was ever ready. */
  exit(worker: WorkerProcess, reason: string, served: boolean): void;
}

const REQUEST_LIMIT_MS = 1_000;

/** One worker, as seen by its supervisor. */
export class WorkerProcess {
  readonly number: number;
  readonly startedAt = performance.now();
  #reported: WorkerLoad = { active: 0, unclaimed: 0, max: 0, waiting: 0, queueSize: 0 };
  #inUse = 0;
  /** The number of sockets that were sent to it, and of those that it reported as received. */
  #handedOver = 0;
  #accepted = 0;
  /** `hung`: it does not answer pings and will be killed; its sessions are lost. */
  state: "starting" | "ready" | "hung" | "gone" = "starting";
  /** True when it accepts no new sessions and is not replaced when it ends. */
  retiring = false;
  readonly #worker: Worker;
  #unanswered = 0;
  #lastMessageAt = performance.now();
  #lastRequest = 0;
  readonly #requests = new Map<number, (answer: unknown) => void>();
  /**
   * Sockets that wait until the worker has confirmed earlier ones, or until its channel has room, and their handles. Node
   * leaves them open when the worker ends.
   */
  readonly #unsent = new Map<Socket, ReturnType<typeof handleOf>>();
  /** Closes the last socket that was written, which the worker may not have received. */
  #closeLast = (): void => {};
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
        for (const [socket, handle] of this.#unsent) {
          socket.destroy();
          handle?.close();
        }
        this.#closeLast();
        handlers.exit(this, reason, served);
        resolve();
      };
      this.#worker.once("exit", (code, signal) => end(signal ?? `exit code ${code}`));
      this.#worker.on("error", (error) => {
        // A broken channel is followed by an exit with a better reason. A process that never ran has no exit.
        if (this.#worker.process.pid === undefined && this.state !== "gone") end(error.message);
      });
    });
  }

  /** Its load, including the sockets that are on their way to it: those beyond its room will wait. */
  get load(): WorkerLoad {
    const { active, max, waiting } = this.#reported;
    const opening = Math.min(this.due, Math.max(0, max - active));
    return { ...this.#reported, active: active + opening, waiting: waiting + this.due - opening };
  }

  /** The sockets for new sessions that are on their way to it. */
  get due(): number {
    return this.#handedOver - this.#accepted;
  }

  /** The sessions in use or in the queue, including the sockets that are on their way to it. */
  get inUse(): number {
    return this.#inUse + this.due;
  }

  /** What is known about it while it does not answer. */
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
    if (!this.#worker.isConnected()) {
      socket?.destroy();
      return;
    }
    if (socket === undefined) {
      this.#worker.send(message, () => {});
      return;
    }
    const handle = handleOf(stillSocket(socket));
    this.#unsent.set(socket, handle);
    this.#worker.send(message, socket, {}, () => {
      this.#unsent.delete(socket);
      this.#closeLast = () => handle?.close();
    });
  }

  /** Requests a sign of life. Returns how many requests in a row have no answer. */
  ping(): number {
    if (this.#unanswered === 0 && this.state === "ready") this.send({ type: "ping" });
    return this.#unanswered++;
  }

  /** Resolves with undefined when there is no answer within a second. */
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

  /** Asks it to end, and kills it after `limitMs`. */
  async end(how: Extract<SupervisorMessage, { type: "retire" | "stop" }>, limitMs: number): Promise<void> {
    // A worker that is not ready does not receive messages.
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
