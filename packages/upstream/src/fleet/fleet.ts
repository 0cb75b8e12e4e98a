import { ProviderError } from "openenv-ts";
import { findProblem } from "./health.js";
import { measureGroups } from "./memory.js";
import { type FleetOptions, type FleetSettings, readOptions } from "./options.js";
import type { Run, Running } from "./run.js";
import { Slot } from "./slot.js";
import { createStarter, findUrl } from "./sources.js";
import type { Fleet, Place, UpstreamStatus } from "./types.js";
import { readUrls, watchUrls } from "./url-file.js";

/**
 * Starts upstreams, or looks for running ones. Resolves with the first that answers; the others start in the background.
 * @throws ConfigError for invalid options, ProviderError with the last lines of a log when the first ones do not start.
 */
export async function startFleet(options: FleetOptions): Promise<Fleet> {
  const settings = readOptions(options);
  settings.signal?.throwIfAborted();
  const fleet = new RunningFleet(settings);
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
const MIB = 1024 * 1024;

interface Request {
  resolve(place: Place): void;
  reject(error: unknown): void;
}

class RunningFleet implements Fleet {
  readonly #settings: FleetSettings;
  readonly #slots = new Map<string, Slot>();
  readonly #requests = new Set<Request>();
  readonly #listeners: (() => void)[] = [];
  readonly #cleanups: (() => void)[] = [];
  #known = 0;
  #turn = 0;
  #closing: Promise<void> | undefined;

  constructor(settings: FleetSettings) {
    this.#settings = settings;
  }

  async start(): Promise<void> {
    const { command, urls, file, processes, startsAtOnce, pingIntervalMs, signal, log } = this.#settings;
    const { promise: settled, resolve, reject } = withResolvers<void>();
    this.onChange(resolve);
    signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
    let wait: number;
    let failures = 0;
    const failed = (error: unknown): void => {
      // The others wait for these, and would fail in the same way.
      if (++failures >= wait) reject(error);
    };
    if (command === undefined) {
      const listed = file === undefined ? [] : await readUrls(file);
      const use = (fresh: readonly string[]): void => this.#useUrls([...urls, ...fresh], failed);
      use(listed);
      wait = this.#slots.size;
      if (file !== undefined) this.#cleanups.push(watchUrls(file, use, log));
    } else {
      const starter = createStarter(this.#settings);
      this.#cleanups.push(starter.close);
      for (let number = 1; number <= processes; number++) this.#add(`process ${number}`, starter.start, failed);
      wait = Math.min(processes, startsAtOnce);
    }
    const timer = setInterval(() => this.#tick(), pingIntervalMs / TURNS);
    this.#cleanups.push(() => clearInterval(timer));
    await settled;
  }

  capacity(): number {
    let sum = 0;
    for (const slot of this.#slots.values()) sum += slot.capacity;
    return sum;
  }

  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }

  async take(signal: AbortSignal): Promise<Place> {
    signal.throwIfAborted();
    if (this.#closing) throw closed();
    const { promise, resolve, reject } = withResolvers<Place>();
    const request = { resolve, reject };
    const abort = (): void => {
      if (this.#requests.delete(request)) reject(signal.reason);
    };
    signal.addEventListener("abort", abort, { once: true });
    this.#requests.add(request);
    this.#assign();
    return promise.finally(() => signal.removeEventListener("abort", abort));
  }

  get upstreams(): readonly UpstreamStatus[] {
    return [...this.#slots.values()].map(({ status }) => status);
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    for (const { reject } of this.#requests) reject(closed());
    this.#requests.clear();
    await Promise.all([...this.#slots.values()].map((slot) => slot.close()));
    for (const clean of this.#cleanups) clean();
  }

  #add(name: string, start: (signal: AbortSignal) => Promise<Running>, onFailure: (error: unknown) => void): void {
    const settings = this.#settings;
    const failed = (error: unknown): void => {
      settings.log.error({ upstream: name, error: String(error) }, "an upstream did not start");
      onFailure(error);
    };
    const { runs } = this.#slots.get(name) ?? {};
    this.#slots.set(name, new Slot({ name, settings, start, changed: () => this.#change(), failed, runs }));
  }

  /** Adds the URLs that are new, and removes those that are missing. */
  #useUrls(urls: readonly string[], failed: (error: unknown) => void): void {
    for (const [name, slot] of this.#slots) if (!urls.includes(name)) slot.remove();
    for (const url of urls) {
      if (this.#slots.get(url)?.isRemoved === false) continue;
      this.#add(url, (signal) => findUrl(url, this.#settings, signal), failed);
    }
    this.#change();
  }

  #change(): void {
    if (this.#closing) return;
    for (const [name, slot] of this.#slots) if (slot.isRemoved && slot.runs.size === 0) this.#slots.delete(name);
    this.#assign();
    const capacity = this.capacity();
    if (capacity === this.#known) return;
    this.#known = capacity;
    for (const listener of this.#listeners) listener();
  }

  #assign(): void {
    for (const request of this.#requests) {
      let best: Slot | undefined;
      for (const slot of this.#slots.values()) {
        if (slot.free > 0 && (best === undefined || slot.sessions < best.sessions)) best = slot;
      }
      if (best === undefined) return;
      this.#requests.delete(request);
      request.resolve(best.take());
    }
  }

  /** Pings some of the upstreams, and measures all of them once in each round. */
  #tick(): void {
    this.#turn = (this.#turn + 1) % TURNS;
    const slots = [...this.#slots.values()];
    for (const { runs } of slots.filter((_, index) => index % TURNS === this.#turn)) {
      for (const run of runs) void this.#ping(run);
    }
    if (this.#turn === 0) void this.#measure(slots.flatMap(({ runs }) => [...runs]));
  }

  async #ping(run: Run): Promise<void> {
    const { pingIntervalMs } = this.#settings;
    const problem = await findProblem(run.running.url, pingIntervalMs);
    run.missed = problem === undefined ? 0 : run.missed + 1;
    if (run.missed < MISSES) return;
    run.lose(`did not answer for ${(MISSES * pingIntervalMs) / 1_000} s (${problem})`);
  }

  async #measure(runs: readonly Run[]): Promise<void> {
    const { replaceAboveMb = Number.POSITIVE_INFINITY } = this.#settings;
    const groups = await measureGroups(runs.map(({ running }) => running.pid));
    for (const run of runs) {
      run.memoryBytes = groups.get(run.running.pid) ?? 0;
      const mib = Math.round(run.memoryBytes / MIB);
      if (mib > replaceAboveMb) run.leave(`was replaced: it used ${mib} MiB`, { needsDelay: true });
    }
  }
}

function closed(): ProviderError {
  return new ProviderError("ABORTED", "The upstreams are closed. Start the server again.");
}

function withResolvers<T>(): { promise: Promise<T>; resolve(value: T): void; reject(error: unknown): void } {
  let resolve!: (value: T) => void;
  let reject!: (error: unknown) => void;
  const promise = new Promise<T>((...both) => ([resolve, reject] = both));
  return { promise, resolve, reject };
}
