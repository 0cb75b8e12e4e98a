/** A journal in SQLite in a thread, so that nothing waits for the disk on the event loop. */
import { existsSync } from "node:fs";
import { Worker } from "node:worker_threads";
import { ConfigError } from "#core/errors.js";
import { type Journal, JournalError, type JournalErrorCode } from "../journal.js";
import type { SqliteJournalOptions } from "./open-file.js";

/** The methods of a journal that its thread has, and `open`. */
const METHODS = [
  "create",
  "find",
  "isHeld",
  "takeOver",
  "commit",
  "release",
  "end",
  "list",
  "read",
  "removeEnded",
] as const;
export type ThreadMethod = (typeof METHODS)[number] | "open" | "close";
/** The calls of one turn go together, and so do the answers. */
export type ThreadCall = [number: number, method: ThreadMethod, args: unknown[]];
export type ThreadAnswer = [number: number, value: unknown, failure?: Failure];

/** An error, without its class. */
export interface Failure {
  code: JournalErrorCode | "INVALID_CONFIG";
  message: string;
  isDamage: boolean;
}

interface Waiting {
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

const THREAD = new URL("./thread-entry.js", import.meta.url);

/** A server in one file has no other file for a thread. */
export function hasThread(): boolean {
  return existsSync(THREAD);
}

/** @throws ConfigError when the file cannot be used, or this runtime has no SQLite. */
export async function openInThread(options: SqliteJournalOptions): Promise<Journal> {
  const thread = new JournalThread(options);
  await thread.call("open", []);
  const calls = METHODS.map((method) => [method, (...args: unknown[]) => thread.call(method, args)] as const);
  const close = (): Promise<void> => thread.close();
  return { ...(Object.fromEntries(calls) as unknown as Journal), close, [Symbol.asyncDispose]: close };
}

class JournalThread {
  readonly #worker: Worker;
  readonly #path: string;
  readonly #waiting = new Map<number, Waiting>();
  #calls: ThreadCall[] = [];
  #last = 0;
  #ended: JournalError | undefined;
  #closing: Promise<void> | undefined;

  constructor(options: SqliteJournalOptions) {
    this.#path = options.path;
    // Flags of this process such as --input-type are not for a file.
    this.#worker = new Worker(THREAD, { workerData: options, execArgv: [] });
    this.#worker.on("message", (answers: ThreadAnswer[]) => this.#receive(answers));
    this.#worker.on("error", (error) => this.#fail(error.message));
    this.#worker.on("exit", () => this.#fail(this.#closing === undefined ? "its thread has ended" : "it is closed"));
    this.#worker.unref();
  }

  call(method: ThreadMethod, args: unknown[]): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (this.#ended !== undefined) return reject(this.#ended);
      // A process that waits for an answer does not end.
      if (this.#waiting.size === 0) this.#worker.ref();
      this.#waiting.set(++this.#last, { resolve, reject });
      if (this.#calls.length === 0) setImmediate(() => this.#send());
      this.#calls.push([this.#last, method, args]);
    });
  }

  close(): Promise<void> {
    return (this.#closing ??= this.call("close", []).then(
      async () => void (await this.#worker.terminate()),
      () => {},
    ));
  }

  #send(): void {
    this.#worker.postMessage(this.#calls);
    this.#calls = [];
  }

  #receive(answers: ThreadAnswer[]): void {
    for (const [number, value, failure] of answers) {
      const { resolve, reject } = this.#waiting.get(number) as Waiting;
      this.#waiting.delete(number);
      if (failure === undefined) resolve(value);
      else reject(toError(failure));
    }
    if (this.#waiting.size === 0) this.#worker.unref();
  }

  #fail(reason: string): void {
    this.#ended ??= new JournalError("JOURNAL_UNAVAILABLE", `The journal ${this.#path} cannot be used: ${reason}`);
    for (const { reject } of this.#waiting.values()) reject(this.#ended);
    this.#waiting.clear();
  }
}

function toError({ code, message, isDamage }: Failure): Error {
  return code === "INVALID_CONFIG" ? new ConfigError(message) : new JournalError(code, message, { isDamage });
}
