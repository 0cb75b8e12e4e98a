import cluster, { type Worker } from "node:cluster";
import type { Socket } from "node:net";
import type { ServerViewSilentWorker } from "../protocol/web.js";
import type { Load } from "../session/registry/fleet.js";
import {
  opensSession,
  type Question,
  type SupervisorMessage,
  WORKER_NUMBER,
  WORKER_PORT,
  WORKER_SOCKETS,
  type WorkerMessage,
} from "./messages.js";
import { stillSocket } from "./still-socket.js";

/** What a worker says by itself. */
export type WorkerNews = Exclude<WorkerMessage, { type: "told" }>;

export interface WorkerHandlers {
  message(worker: WorkerProcess, message: WorkerNews, socket: Socket | undefined): void;
  /** `served`: it was ready once. */
  exit(worker: WorkerProcess, reason: string, served: boolean): void;
}

const ASK_LIMIT_MS = 1_000;

/** One worker as its supervisor holds it. */
export class WorkerProcess {
  readonly number: number;
  readonly startedAt = performance.now();
  #told: Load = { active: 0, unclaimed: 0, max: 0, waiting: 0, places: 0 };
  #inUse = 0;
  /** Sockets that were given to it, and those it has said that it took. */
  #given = 0;
  #taken = 0;
  /** `hung`: it answers no ping and will be killed; its sessions are lost. */
  state: "starting" | "ready" | "hung" | "gone" = "starting";
  /** Takes nothing new and is not replaced when it ends. */
  retiring = false;
  readonly #worker: Worker;
  #unheard = 0;
  #heardAt = performance.now();
  #asked = 0;
  readonly #questions = new Map<number, (answer: unknown) => void>();
  readonly #gone: Promise<void>;

  constructor(number: number, place: { folder: string; port: number }, handlers: WorkerHandlers) {
    this.number = number;
    this.#worker = cluster.fork({
      [WORKER_NUMBER]: String(number),
      [WORKER_SOCKETS]: place.folder,
      [WORKER_PORT]: String(place.port),
    });
    this.#worker.on("message", (message: WorkerMessage, socket?: Socket) => {
      this.#unheard = 0;
      this.#heardAt = performance.now();
      if (message.type === "told") this.#questions.get(message.question)?.(message.answer);
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
  get load(): Load {
    return { ...this.#told, active: this.#told.active + this.#given - this.#taken };
  }

  /** Sessions that are used or waited for, with the sockets that are on their way to it. */
  get inUse(): number {
    return this.#inUse + this.#given - this.#taken;
  }

  /** What is known of it while it does not answer. */
  silence(): ServerViewSilentWorker {
    const { active, max } = this.load;
    const silent_s = (performance.now() - this.#heardAt) / 1000;
    return { worker: this.number, pid: this.#worker.process.pid ?? 0, sessions: active, max_sessions: max, silent_s };
  }

  heard({ load, inUse, taken }: Extract<WorkerMessage, { type: "load" }>): void {
    this.#told = load;
    this.#inUse = inUse;
    this.#taken = taken;
  }

  give(message: Extract<SupervisorMessage, { type: "upgrade" }>, socket: Socket): void {
    if (opensSession(message)) this.#given++;
    this.tell(message, socket);
  }

  tell(message: SupervisorMessage, socket?: Socket): void {
    if (this.#worker.isConnected()) this.#worker.send(message, socket && stillSocket(socket), () => {});
    else socket?.destroy();
  }

  /** Asks for a sign of life. Returns how many times in a row that was asked and nothing has come. */
  ping(): number {
    if (this.#unheard === 0 && this.state === "ready") this.tell({ type: "ping" });
    return this.#unheard++;
  }

  /** Undefined when no answer comes in a second. */
  ask(about: Question): Promise<unknown> {
    const question = ++this.#asked;
    return new Promise((resolve) => {
      const done = (answer?: unknown): void => {
        clearTimeout(timer);
        this.#questions.delete(question);
        resolve(answer);
      };
      const timer = setTimeout(done, ASK_LIMIT_MS);
      this.#questions.set(question, done);
      this.tell({ type: "ask", question, about });
    });
  }

  /** Ends it: asks first, kills after `limitMs`. */
  async end(how: Extract<SupervisorMessage, { type: "retire" | "stop" }>, limitMs: number): Promise<void> {
    // One that does not serve yet does not listen to messages either.
    if (this.state === "starting") this.kill();
    else this.tell(how);
    const timer = setTimeout(() => this.kill(), limitMs);
    await this.#gone;
    clearTimeout(timer);
  }

  kill(): void {
    this.#worker.process.kill("SIGKILL");
  }
}
