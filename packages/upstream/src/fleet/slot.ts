import { setTimeout as sleep } from "node:timers/promises";
import type { FleetSettings } from "./options.js";
import { Run, type Running } from "./run.js";
import type { UpstreamPlace, UpstreamStatus } from "./types.js";

const STABLE_MS = 60_000;
const FIRST_DELAY_MS = 1_000;
const LONGEST_DELAY_MS = 30_000;
const SHOWN_LINES = 20;
const CLOSED = "ended with the server in front of it";

export interface UpstreamSlotOptions {
  name: string;
  settings: FleetSettings;
  start(signal: AbortSignal): Promise<Running>;
  /** Called when it may have more, fewer or other sessions than before. */
  changed(): void;
  /** Called with the error of a start. */
  failed(error: unknown): void;
  /** What an earlier slot of the same URL still has. */
  runs?: Set<Run> | undefined;
}

/** One process, or one URL, over all of its runs: when a run takes no more sessions, the next one starts. */
export class UpstreamSlot {
  /** The current run, and earlier ones that still have sessions. */
  readonly runs: Set<Run>;
  readonly #options: UpstreamSlotOptions;
  readonly #stop = new AbortController();
  readonly #endings = new Set<Promise<void>>();
  readonly #done: Promise<void>;
  #current: Run | undefined;
  #state: UpstreamStatus["state"] = "starting";
  #readyAt = 0;
  #episodes = 0;
  #restarts = 0;

  constructor(options: UpstreamSlotOptions) {
    this.#options = options;
    this.runs = options.runs ?? new Set();
    this.#done = this.#live();
  }

  get isRemoved(): boolean {
    return this.#stop.signal.aborted;
  }

  get sessions(): number {
    return sum(this.runs, (run) => run.sessions.size);
  }

  /** Sessions that it can have now. A run that takes no more still has its own. */
  get capacity(): number {
    return this.#current ? this.#options.settings.sessionsPerUpstream : this.sessions;
  }

  get free(): number {
    return this.#current?.isSuspect === false ? this.capacity - this.sessions : 0;
  }

  get status(): UpstreamStatus {
    const isDraining = this.isRemoved || this.runs.size > 0;
    return {
      name: this.#options.name,
      url: this.#current?.running.url,
      state: this.#current ? "ready" : isDraining ? "draining" : this.#state,
      sessions: this.sessions,
      episodes: this.#episodes,
      restarts: this.#restarts,
      memoryBytes: sum(this.runs, (run) => run.memoryBytes),
    };
  }

  /** Call it only when it is free. */
  take(): UpstreamPlace {
    const run = this.#current as Run;
    const { name, settings, changed } = this.#options;
    let notify!: (reason: string) => void;
    const ended = new Promise<string>((resolve) => (notify = (reason) => resolve(`${name} ${reason}`)));
    run.sessions.add(notify);
    return {
      upstream: { name, url: run.running.url },
      ended,
      countEpisode: () => {
        this.#episodes++;
        if (++run.episodes === settings.replaceAfterEpisodes) run.leave(`was replaced after ${run.episodes} episodes`);
      },
      suspect: () => void run.suspect(settings.pingIntervalMs).then(changed),
      [Symbol.dispose]: () => {
        run.remove(notify);
        changed();
      },
    };
  }

  /** Takes no more sessions, and keeps those that it has. */
  remove(): void {
    this.#stop.abort();
    this.#current?.leave("was removed from the list");
  }

  async close(): Promise<void> {
    this.#stop.abort();
    for (const run of this.runs) run.end(CLOSED, false);
    await this.#done;
    await Promise.all(this.#endings);
  }

  async #live(): Promise<void> {
    const { signal } = this.#stop;
    for (let failures = 0; !signal.aborted; this.#restarts++) {
      this.#state = "starting";
      this.#readyAt = Number.POSITIVE_INFINITY;
      const isLost = await this.#runOnce(signal);
      const isStable = performance.now() - this.#readyAt > STABLE_MS;
      failures = isLost ? (isStable ? 1 : failures + 1) : 0;
      this.#state = "waiting";
      const delay = failures === 0 ? 0 : Math.min(FIRST_DELAY_MS * 2 ** (failures - 1), LONGEST_DELAY_MS);
      await sleep(delay, undefined, { signal }).catch(() => {});
    }
  }

  /** Resolves when the next run should start: with true when this one has failed. */
  async #runOnce(signal: AbortSignal): Promise<boolean> {
    const { name, settings, start, changed, failed } = this.#options;
    try {
      const running = await start(signal);
      const run: Run = new Run(running, (reason, isLost) => this.#end(run, reason, isLost));
      this.#current = run;
      this.#readyAt = performance.now();
      this.runs.add(run);
      if (signal.aborted) run.end(CLOSED, false);
      settings.log.debug({ upstream: name, url: running.url }, "an upstream is ready");
      changed();
      const { reason, isLost } = await run.left;
      this.#current = undefined;
      if (!isLost && reason !== CLOSED)
        settings.log.info({ upstream: name, reason }, "an upstream takes no more sessions");
      changed();
      return isLost;
    } catch (error) {
      if (!signal.aborted) failed(error);
      return true;
    }
  }

  #end(run: Run, reason: string, isLost: boolean): void {
    const { name, settings, changed } = this.#options;
    if (this.#current === run) this.#current = undefined;
    this.runs.delete(run);
    const report = async (): Promise<void> => {
      const { logs, close } = run.running;
      const lines = isLost ? (await logs()).trimEnd().split("\n").slice(-SHOWN_LINES) : [];
      if (isLost) settings.log.warn({ upstream: name, reason, lines }, "an upstream has ended");
      await close();
    };
    const ending = report().catch((error: unknown) => {
      settings.log.error({ upstream: name, error: String(error) }, "an upstream could not be ended");
    });
    this.#endings.add(ending);
    void ending.then(() => this.#endings.delete(ending));
    changed();
  }
}

function sum(runs: Iterable<Run>, count: (run: Run) => number): number {
  let total = 0;
  for (const run of runs) total += count(run);
  return total;
}
