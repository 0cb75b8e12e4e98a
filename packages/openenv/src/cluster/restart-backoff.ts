import { MAX_REPORTED_ERRORS } from "../protocol/web.js";
import type { LostWorker } from "../session/statistics/worker-report.js";
import type { WorkerProcess } from "./worker-process.js";

/** A worker that lived shorter than this, or never served, has failed to start: the next one waits longer. */
const SHORT_LIFE_MS = 10_000;
const MAX_BACKOFF_MS = 5_000;
/** The most for one that had served: what killed it need not be what it starts with. */
const MAX_SERVED_BACKOFF_MS = 500;

/** The workers that were lost, and how long the replacement of each waits. */
export class RestartBackoff {
  #count = 0;
  /** Short lives in a row. */
  #failures = 0;
  /** The newest last. */
  readonly #recent: LostWorker[] = [];

  /** All that there were. */
  get count(): number {
    return this.#count;
  }

  /** The latest, the newest last. */
  get recent(): readonly LostWorker[] {
    return this.#recent;
  }

  /** Milliseconds until its replacement is to start. */
  add(worker: WorkerProcess, reason: string, served: boolean): number {
    this.#count++;
    this.#recent.push({
      at: Date.now() / 1000,
      code: "WORKER_LOST",
      message: `Worker ${worker.number} ended (${reason}) and is replaced; it had ${worker.load.active} sessions.`,
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
