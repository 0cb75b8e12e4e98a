import { existsSync } from "node:fs";
import { Worker } from "node:worker_threads";
import { ConfigError, OpenEnvError } from "#core/errors.js";
import { openRole, type Role, type Roles } from "./roles.js";
import type { Written } from "./writer.js";

export type StoreCall = [number: number, method: string, args: unknown[]];
export type StoreAnswer = [number: number, value: unknown, error?: { message: string; isConfig: boolean }];

interface Waiting {
  resolve(value: unknown): void;
  reject(error: unknown): void;
  timer: NodeJS.Timeout | undefined;
}

const ENTRY = new URL("./thread-entry.js", import.meta.url);

type Methods<T> = { [K in keyof T as T[K] extends (...args: never[]) => unknown ? K : never]: T[K] };

/**
 * One of the threads that have the file of a store open. With `limitMs` a call that takes longer ends the thread, and the
 * next call starts another one: SQLite cannot be interrupted on all runtimes.
 */
export class StoreThread<R extends Role> {
  readonly #role: R;
  readonly #folder: string;
  readonly #limitMs: number | undefined;
  readonly #waiting = new Map<number, Waiting>();
  #last = 0;
  #worker: Promise<Worker | Roles[R]> | undefined;
  #isClosed = false;

  constructor(role: R, folder: string, limitMs?: number) {
    this.#role = role;
    this.#folder = folder;
    this.#limitMs = limitMs;
  }

  /** @throws ConfigError, as a rejection, when the file cannot be used, OpenEnvError (TIMEOUT) after `limitMs`. */
  async call<M extends keyof Methods<Roles[R]> & string>(
    method: M,
    ...args: Parameters<Roles[R][M] extends (...all: never[]) => unknown ? Roles[R][M] : never>
  ): Promise<ReturnType<Roles[R][M] extends (...all: never[]) => unknown ? Roles[R][M] : never>> {
    const opened = await this.open();
    if (!(opened instanceof Worker)) {
      return (opened as unknown as Record<string, (...all: unknown[]) => never>)[method]?.(...args) as never;
    }
    return (await this.#ask(opened, method, args, this.#limitMs)) as never;
  }

  /** Opens the file. A server in one file has no other file for a thread, and does without. */
  open(): Promise<Worker | Roles[R]> {
    if (this.#isClosed) throw new OpenEnvError("SESSION_ERROR", "the server stops");
    const opened = (this.#worker ??= existsSync(ENTRY) ? this.#start() : openRole(this.#role, this.#folder));
    opened.catch(() => (this.#worker = undefined));
    return opened;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const opened = await this.#worker?.catch(() => undefined);
    if (opened === undefined) return;
    if (!(opened instanceof Worker)) return opened.close();
    await this.#ask(opened, "close", []).catch(() => {});
    await opened.terminate();
  }

  async #start(): Promise<Worker> {
    // Flags of this process such as --input-type are not for a file.
    const worker = new Worker(ENTRY, { workerData: { role: this.#role, folder: this.#folder }, execArgv: [] });
    worker.on("message", ([number, value, error]: StoreAnswer) => {
      const failure =
        error && (error.isConfig ? new ConfigError(error.message) : new OpenEnvError("SESSION_ERROR", error.message));
      this.#settle(worker, number, (one) => (failure === undefined ? one.resolve(value) : one.reject(failure)));
    });
    worker.on("error", (error) => this.#fail(worker, error));
    worker.on("exit", () => this.#fail(worker, new Error("the thread of the store has ended")));
    worker.unref();
    await this.#ask(worker, "open", []);
    return worker;
  }

  #ask(worker: Worker, method: string, args: unknown[], limitMs?: number): Promise<unknown> {
    return new Promise((resolve, reject) => {
      // A process that waits for an answer does not end.
      if (this.#waiting.size === 0) worker.ref();
      const expire = (): void => {
        const message = `The query took longer than ${(limitMs as number) / 1000} s: narrow it, for example by a run.`;
        this.#fail(worker, new OpenEnvError("TIMEOUT", message));
        void worker.terminate();
      };
      const timer = limitMs === undefined ? undefined : setTimeout(expire, limitMs);
      this.#waiting.set(++this.#last, { resolve, reject, timer });
      // Bytes to write are moved, not copied: the caller does not use them again.
      const moved = method === "write" ? (args[0] as Written[]).flatMap(({ body }) => body?.buffer ?? []) : [];
      worker.postMessage([this.#last, method, args] satisfies StoreCall, moved as ArrayBuffer[]);
    });
  }

  #settle(worker: Worker, number: number, end: (waiting: Waiting) => void): void {
    const waiting = this.#waiting.get(number);
    if (waiting === undefined) return;
    this.#waiting.delete(number);
    clearTimeout(waiting.timer);
    if (this.#waiting.size === 0) worker.unref();
    end(waiting);
  }

  #fail(worker: Worker, error: Error): void {
    this.#worker = undefined;
    for (const number of [...this.#waiting.keys()]) this.#settle(worker, number, ({ reject }) => reject(error));
  }
}
