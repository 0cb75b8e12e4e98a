import { MAX_REPORTED_ERRORS } from "#core/protocol/web.js";
import type { LostWorker } from "#core/server/worker-report.js";
import type { WorkerProcess } from "./worker-process.js";

/** A worker that ran for less time, or never served, counts as a failed start: the next one waits longer. */
const SHORT_LIFE_MS = 10_000;
const MAX_BACKOFF_MS = 5_000;
/** The maximum delay after a worker that had served: the cause of its end may not affect the next start. */
const MAX_SERVED_BACKOFF_MS = 500;

/** Records lost workers and computes the delay of their replacements. */
export class RestartBackoff {
  #count = 0;
  /** The number of failed starts in a row. */
  #failures = 0;
  /** Oldest first. */
  readonly #recent: LostWorker[] = [];

  /** The number of all lost workers. */
  get count(): number {
    return this.#count;
  }

  /** The last lost workers, oldest first. */
  get recent(): readonly LostWorker[] {
    return this.#recent;
  }

  /** Records a lost worker. Returns the milliseconds until its replacement starts. */
  add(worker: WorkerProcess, reason: string, served: boolean): number {
    this.#count++;
    this.#recent.push({
      at: Date.now() / 1000,
      code: "WORKER_LOST",
      fault: "infrastructure",
      message: `Worker ${worker.number} exited (${reason}) and is being replaced; it had ${worker.load.active} sessions.`,
      worker: worker.number,
      session_id: null,
      step: null,
    });
    if (this.#recent.length > MAX_REPORTED_ERRORS) this.#recent.shift();
    const lived = performance.now() - worker.startedAt;
    this.#failures = served && lived >= SHORT_LIFE_MS ? 0 : this.#failures + 1;
    const most = served ? MAX_SERVED_BACKOFF_MS : MAX_BACKOFF_MS;
    return this.#failures === 0 ? 0 : Math.min(100 * 2 ** (this.#failures - 1), most);
  }
}
