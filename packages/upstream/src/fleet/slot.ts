import { setTimeout as sleep } from "node:timers/promises";
import type { Log } from "./options.js";
import { type Departure, Run, type Running } from "./run.js";
import type { UpstreamStatus } from "./types.js";

const STABLE_MS = 60_000;
const FIRST_DELAY_MS = 1_000;
const LONGEST_DELAY_MS = 30_000;
const SHOWN_LINES = 20;

export interface SlotOptions {
  name: string;
  number: number;
  sessions: number;
  replaceAfterEpisodes: number | undefined;
  log: Log;
  start(signal: AbortSignal): Promise<Running>;
  /** Called when it may have more, fewer or other sessions than before. */
  changed(): void;
  /** Called with the error of a start. */
  failed(error: unknown): void;
  /** Runs of an earlier slot of the same upstream, which still have sessions. */
  runs?: Set<Run>;
}

/** One process, or one URL, over all of its runs: when a run ends, the next one starts. */
export class Slot {
  /** The current run, and earlier ones that still have sessions. */
  readonly runs: Set<Run>;
  readonly done: Promise<void>;
  readonly #options: SlotOptions;
  readonly #stop = new AbortController();
  readonly #closings = new Set<Promise<void>>();
  #current: Run | undefined;
  #state: UpstreamStatus["state"] = "starting";
  #episodes = 0;
  #restarts = 0;

  constructor(options: SlotOptions) {
    this.#options = options;
    this.runs = options.runs ?? new Set();
    this.done = this.#live();
  }

  get number(): number {
    return this.#options.number;
  }

  get isRemoved(): boolean {
    return this.#stop.signal.aborted;
  }

  get sessions(): number {
    let sum = 0;
    for (const run of this.runs) sum += run.sessions;
    return sum;
  }

  /** Sessions that it can have now. A run that takes no more still has its own. */
  get capacity(): number {
    return this.#current ? this.#options.sessions : this.sessions;
  }

  get free(): number {
    return this.#current ? this.#options.sessions - this.sessions : 0;
  }

  get status(): UpstreamStatus {
    let memoryBytes = 0;
    for (const run of this.runs) memoryBytes += run.memoryBytes;
    const state = this.#current ? "ready" : this.isRemoved || this.runs.size > 0 ? "draining" : this.#state;
    const counts = { sessions: this.sessions, episodes: this.#episodes, restarts: this.#restarts, memoryBytes };
    return { name: this.#options.name, state, ...counts };
  }

  take(): ReturnType<Run["take"]> | undefined {
    const run = this.#current;
    return run?.take(() => {
      this.#episodes++;
      if (run.episodes === this.#options.replaceAfterEpisodes) {
        run.leave({ reason: `was replaced after ${run.episodes} episodes`, needsDelay: false, isLost: false });
      }
    });
  }

  /** Takes no more sessions, and keeps those that it has. */
  remove(): void {
    this.#stop.abort();
    this.#current?.leave(REMOVED);
  }

  async close(): Promise<void> {
    this.#stop.abort();
    for (const run of this.runs) run.end(CLOSED);
    await this.done;
    await Promise.all(this.#closings);
  }

  async #live(): Promise<void> {
    const { signal } = this.#stop;
    for (let failures = 0; !signal.aborted; this.#restarts++) {
      this.#state = "starting";
      const begin = performance.now();
      const { needsDelay } = await this.#runOnce(signal);
      if (signal.aborted) return;
      if (!needsDelay) failures = 0;
      else failures = performance.now() - begin > STABLE_MS ? 1 : failures + 1;
      this.#state = "waiting";
      if (failures === 0) continue;
      await sleep(Math.min(FIRST_DELAY_MS * 2 ** (failures - 1), LONGEST_DELAY_MS), undefined, { signal }).catch(
        () => {},
      );
    }
  }

  /** Resolves when the next run should start. */
  async #runOnce(signal: AbortSignal): Promise<Departure> {
    const { name, log, start, changed, failed } = this.#options;
    let running: Running;
    try {
      running = await start(signal);
    } catch (error) {
      if (!signal.aborted) failed(error);
      return { reason: "did not start", needsDelay: true, isLost: true };
    }
    const run: Run = new Run({ name, running, changed, ended: (departure) => this.#lose(run, departure) });
    this.#current = run;
    this.runs.add(run);
    if (signal.aborted) run.end(CLOSED);
    log.debug({ upstream: name, url: run.url }, "an upstream is ready");
    changed();
    const departure = await run.left;
    this.#current = undefined;
    if (!departure.isLost) log.info({ upstream: name, reason: departure.reason }, "an upstream takes no more sessions");
    changed();
    return departure;
  }

  #lose(run: Run, { reason, isLost }: Departure): void {
    const { name, log, changed } = this.#options;
    if (this.#current === run) this.#current = undefined;
    this.runs.delete(run);
    const report = async (): Promise<void> => {
      if (isLost) log.warn({ upstream: name, reason, lines: await lastLines(run) }, "an upstream has ended");
      await run.closed;
    };
    const closing = report().catch((error: unknown) => {
      log.error({ upstream: name, error: String(error) }, "an upstream could not be ended");
    });
    this.#closings.add(closing);
    void closing.then(() => this.#closings.delete(closing));
    changed();
  }
}

const CLOSED: Departure = { reason: "was ended with the server in front of it", needsDelay: false, isLost: false };
const REMOVED: Departure = { reason: "was removed from the list", needsDelay: false, isLost: false };

async function lastLines(run: Run): Promise<string[]> {
  return (await run.logs()).trimEnd().split("\n").slice(-SHOWN_LINES);
}
