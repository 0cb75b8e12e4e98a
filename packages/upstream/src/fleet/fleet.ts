import { ProviderError } from "openenv-ts";
import { findProblem } from "./health.js";
import { type FleetOptions, type FleetSettings, readOptions } from "./options.js";
import type { Running } from "./run.js";
import { Slot } from "./slot.js";
import { findUrl, startProcess } from "./sources.js";
import type { Fleet, Place, UpstreamStatus } from "./types.js";

/**
 * Starts upstreams, or looks for running ones. Resolves with the first that answers; the others start in the background.
 * @throws ConfigError for invalid options, ProviderError with the last lines of a log when the first ones do not start.
 */
export async function startFleet(options: FleetOptions): Promise<Fleet> {
  const fleet = new RunningFleet(readOptions(options));
  try {
    await fleet.start();
    return fleet;
  } catch (error) {
    await fleet[Symbol.asyncDispose]();
    throw error;
  }
}

/** An upstream that misses this number of pings in a row hangs. */
const MISSES = 3;
/** The upstreams are not all asked at the same time. */
const TURNS = 10;

class RunningFleet implements Fleet {
  readonly #settings: FleetSettings;
  readonly #slots = new Map<string, Slot>();
  readonly #waiting = new Map<(place: Place) => void, (error: unknown) => void>();
  readonly #listeners: (() => void)[] = [];
  readonly #starts: (() => void)[] = [];
  #startsLeft: number;
  #known = 0;
  #count = 0;
  #turn = 0;
  #timer: NodeJS.Timeout | undefined;
  #closing: Promise<void> | undefined;

  constructor(settings: FleetSettings) {
    this.#settings = settings;
    this.#startsLeft = settings.startsAtOnce;
  }

  async start(): Promise<void> {
    const { command, processes, urls = [], startsAtOnce, pingIntervalMs, signal } = this.#settings;
    signal?.throwIfAborted();
    const ready = new Promise<void>((resolve) => this.onChange(resolve));
    const add = (name: string, start: (until: AbortSignal) => Promise<Running>): Promise<unknown> =>
      new Promise((resolve) => this.#addSlot(name, start, resolve));
    const failures =
      command === undefined
        ? urls.map((url) => add(url, (until) => findUrl(url, this.#settings, until)))
        : Array.from({ length: processes }, (_, index) =>
            add(`process ${index + 1}`, (until) => this.#startOne(until)),
          );
    this.#timer = setInterval(() => this.#ping(), pingIntervalMs / TURNS);
    // The others wait for these, and would fail in the same way.
    const first = command === undefined ? failures : failures.slice(0, startsAtOnce);
    const failed = Promise.all(first).then(([error]): never => {
      throw error;
    });
    await Promise.race([ready, failed, ...(signal ? [rejectAt(signal)] : [])]);
  }

  capacity(): number {
    let sum = 0;
    for (const slot of this.#slots.values()) sum += slot.capacity;
    return sum;
  }

  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }

  take(signal: AbortSignal): Promise<Place> {
    return new Promise((resolve, reject) => {
      if (this.#closing) throw closed();
      signal.throwIfAborted();
      const abort = (): void => give(() => reject(signal.reason));
      const settle = (place: Place): void => give(() => resolve(place));
      const give = (answer: () => void): void => {
        signal.removeEventListener("abort", abort);
        this.#waiting.delete(settle);
        answer();
      };
      signal.addEventListener("abort", abort, { once: true });
      this.#waiting.set(settle, (error) => give(() => reject(error)));
      this.#assign();
    });
  }

  get upstreams(): readonly UpstreamStatus[] {
    return [...this.#slots.values()].map(({ status }) => status);
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    clearInterval(this.#timer);
    for (const reject of this.#waiting.values()) reject(closed());
    await Promise.all([...this.#slots.values()].map((slot) => slot.close()));
  }

  #addSlot(name: string, start: (signal: AbortSignal) => Promise<Running>, onFailure: (error: unknown) => void): void {
    const { sessionsPerUpstream: sessions, replaceAfterEpisodes, log } = this.#settings;
    const failed = (error: unknown): void => {
      log.error(
        { upstream: name, error: error instanceof Error ? error.message : String(error) },
        "an upstream did not start",
      );
      onFailure(error);
    };
    const changed = (): void => this.#change();
    const number = this.#count++;
    this.#slots.set(name, new Slot({ name, number, sessions, replaceAfterEpisodes, log, start, changed, failed }));
  }

  /** Starts at most `startsAtOnce` processes at the same time, in the order of the requests. */
  async #startOne(signal: AbortSignal): Promise<Running> {
    if (this.#startsLeft > 0) this.#startsLeft--;
    else await new Promise<void>((resolve) => this.#starts.push(resolve));
    try {
      signal.throwIfAborted();
      return await startProcess(this.#settings, signal, () => {});
    } finally {
      const next = this.#starts.shift();
      if (next) next();
      else this.#startsLeft++;
    }
  }

  #change(): void {
    this.#assign();
    const capacity = this.capacity();
    if (capacity === this.#known) return;
    this.#known = capacity;
    for (const listener of this.#listeners) listener();
  }

  #assign(): void {
    for (const settle of this.#waiting.keys()) {
      let best: Slot | undefined;
      for (const slot of this.#slots.values()) {
        if (slot.free > 0 && (best === undefined || slot.sessions < best.sessions)) best = slot;
      }
      const place = best?.take();
      if (place === undefined) return;
      settle(place);
    }
  }

  #ping(): void {
    const { pingIntervalMs } = this.#settings;
    this.#turn = (this.#turn + 1) % TURNS;
    const slots = [...this.#slots.values()].filter(({ number }) => number % TURNS === this.#turn);
    for (const run of slots.flatMap((slot) => [...slot.runs])) {
      void findProblem(run.url, pingIntervalMs).then((problem) => {
        run.missed = problem === undefined ? 0 : run.missed + 1;
        if (run.missed < MISSES) return;
        const seconds = (MISSES * pingIntervalMs) / 1_000;
        run.end({ reason: `did not answer for ${seconds} s (${problem})`, isLost: true, needsDelay: true });
      });
    }
  }
}

function closed(): ProviderError {
  return new ProviderError("ABORTED", "The upstreams are closed. Start the server again.");
}

function rejectAt(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason), { once: true }));
}
