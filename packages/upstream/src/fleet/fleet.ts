import { ConfigError, ProviderError } from "openenv-ts";
import { findProblem } from "./health.js";
import { measureGroups } from "./memory.js";
import { type FleetOptions, type FleetSettings, readOptions } from "./options.js";
import type { Run, Running } from "./run.js";
import { UpstreamSlot } from "./slot.js";
import { createStarter, findUrl } from "./sources.js";
import type { Fleet, UpstreamPlace, UpstreamStatus } from "./types.js";
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

/** Gives a place to a session that waits; without one, its wait has ended. */
type Request = (place: UpstreamPlace | undefined) => void;

type Failed = (error: unknown, name: string) => void;

class RunningFleet implements Fleet {
  readonly #settings: FleetSettings;
  readonly #slots = new Map<string, UpstreamSlot>();
  readonly #requests = new Set<Request>();
  readonly #listeners: (() => void)[] = [];
  readonly #cleanups: (() => void)[] = [];
  #known = 0;
  #turn = 0;
  #closing: Promise<void> | undefined;

  constructor(settings: FleetSettings) {
    this.#settings = settings;
  }

  start(): Promise<void> {
    const { command, pingIntervalMs, signal } = this.#settings;
    return new Promise((resolve, reject) => {
      this.onChange(resolve);
      signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
      // The others wait for the first ones, and would fail in the same way.
      let first = Number.POSITIVE_INFINITY;
      const tried = new Set<string>();
      const failed = (error: unknown, name: string): void => {
        if (tried.add(name).size >= first) reject(error);
      };
      const begun = command === undefined ? this.#findAll(failed) : this.#startAll(failed);
      begun.then((count) => (first = count), reject);
      const timer = setInterval(() => this.#tick(), pingIntervalMs / TURNS).unref();
      this.#cleanups.push(() => clearInterval(timer));
    });
  }

  capacity(): number {
    let sum = 0;
    for (const slot of this.#slots.values()) sum += slot.capacity;
    return sum;
  }

  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }

  take(signal: AbortSignal): Promise<UpstreamPlace> {
    return new Promise((resolve, reject) => {
      const request: Request = (place) => {
        this.#requests.delete(request);
        signal.removeEventListener("abort", abort);
        if (place) resolve(place);
        else reject(signal.aborted ? signal.reason : closed());
      };
      const abort = (): void => request(undefined);
      if (signal.aborted || this.#closing) return request(undefined);
      signal.addEventListener("abort", abort);
      this.#requests.add(request);
      this.#assign();
    });
  }

  get upstreams(): readonly UpstreamStatus[] {
    return [...this.#slots.values()].map(({ status }) => status);
  }

  [Symbol.asyncDispose](): Promise<void> {
    // Set before anything ends, so that what ends is not replaced.
    this.#closing ??= Promise.resolve().then(() => this.#close());
    return this.#closing;
  }

  async #close(): Promise<void> {
    for (const request of this.#requests) request(undefined);
    await Promise.all([...this.#slots.values()].map((slot) => slot.close()));
    for (const clean of this.#cleanups) clean();
  }

  /** Returns the number of upstreams that are tried at first. */
  async #startAll(failed: Failed): Promise<number> {
    const { processes, startsAtOnce } = this.#settings;
    const starter = createStarter(this.#settings);
    for (let number = 1; number <= processes; number++) this.#add(`process ${number}`, starter, failed);
    return Math.min(processes, startsAtOnce);
  }

  async #findAll(failed: Failed): Promise<number> {
    const { urls, file, log } = this.#settings;
    const use = (listed: readonly string[]): void => {
      if (this.#closing) return;
      const wanted = [...urls, ...listed];
      for (const [name, slot] of this.#slots) if (!wanted.includes(name)) slot.remove();
      for (const url of wanted) {
        if (this.#slots.get(url)?.isRemoved === false) continue;
        this.#add(url, (signal) => findUrl(url, this.#settings, signal), failed);
      }
      this.#change();
    };
    use(file === undefined ? [] : await readUrls(file));
    if (this.#slots.size === 0) throw new ConfigError(`${file} has no URL. Add a line such as http://host:8000.`);
    if (file !== undefined && !this.#closing) this.#cleanups.push(watchUrls(file, use, log));
    return this.#slots.size;
  }

  #add(name: string, start: (signal: AbortSignal) => Promise<Running>, onFailure: Failed): void {
    const settings = this.#settings;
    const failed = (error: unknown): void => {
      settings.log.error({ upstream: name, error: String(error) }, "an upstream did not start");
      onFailure(error, name);
    };
    const { runs } = this.#slots.get(name) ?? {};
    this.#slots.set(name, new UpstreamSlot({ name, settings, start, changed: () => this.#change(), failed, runs }));
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
      let best: UpstreamSlot | undefined;
      for (const slot of this.#slots.values()) {
        if (slot.free > 0 && (best === undefined || slot.sessions < best.sessions)) best = slot;
      }
      if (best === undefined) return;
      request(best.take());
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
    run.end(`did not answer for ${(MISSES * pingIntervalMs) / 1_000} s (${problem})`, true);
  }

  async #measure(runs: readonly Run[]): Promise<void> {
    const { replaceAboveMb = Number.POSITIVE_INFINITY } = this.#settings;
    const groups = await measureGroups(runs.map(({ running }) => running.pid));
    for (const run of runs) {
      run.memoryBytes = groups.get(run.running.pid) ?? 0;
      const mib = Math.round(run.memoryBytes / MIB);
      if (mib > replaceAboveMb) run.leave(`was replaced: it used ${mib} MiB`);
    }
  }
}

function closed(): ProviderError {
  return new ProviderError("ABORTED", "The upstreams are closed. Start the server again.");
}
