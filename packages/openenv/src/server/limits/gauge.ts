import { readdir, stat } from "node:fs/promises";
import { type IntervalHistogram, monitorEventLoopDelay } from "node:perf_hooks";
import { startLoopClock } from "#parts/sockets";
import { addCounts, Histogram } from "../../session/statistics/histogram.js";
import type { Statistics } from "../../session/statistics/statistics.js";

const SAMPLE_MS = 1_000;
/** Latencies are reported over this many samples. */
const WINDOW = 10;
const RESOLUTION_MS = 20;

/** Values that are sampled once a second. */
export interface Gauges {
  steps_per_second: number;
  /** Share of one core. */
  cpu_share: number;
  loop_lag_ms: number;
  /** Step latencies of the last ten seconds, by bucket. */
  latency: number[];
}

/** Samples rates once a second, starting with the first read. */
export class Gauge {
  /** The maximum delay of the event loop in each second. */
  readonly lag = new Histogram();
  readonly #statistics: Statistics;
  readonly #window: Float64Array[] = [];
  #delay: IntervalHistogram | undefined;
  #timer: NodeJS.Timeout | undefined;
  #at = 0;
  #steps = 0;
  #cpu = 0;
  #counts = new Float64Array();
  #latest = { steps_per_second: 0, cpu_share: 0, loop_lag_ms: 0 };

  constructor(statistics: Statistics) {
    this.#statistics = statistics;
  }

  read(): Gauges {
    if (this.#timer === undefined) this.#start();
    return { ...this.#latest, latency: addCounts(this.#window) };
  }

  close(): void {
    clearInterval(this.#timer);
    this.#delay?.disable();
  }

  #start(): void {
    startLoopClock();
    this.#delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
    this.#delay.enable();
    this.#timer = setInterval(() => this.#sample(), SAMPLE_MS);
    this.#timer.unref();
    this.#mark();
  }

  #sample(): void {
    const seconds = (performance.now() - this.#at) / 1000;
    const { openenv_steps_total: steps, openenv_step_duration_seconds: latency } = this.#statistics.counts;
    const delay = this.#delay as IntervalHistogram;
    // The histogram contains the times between two ticks.
    const lag = delay.count === 0 ? 0 : delay.percentile(99) / 1e6 - RESOLUTION_MS;
    if (delay.count > 0) this.lag.record(Math.max(0, delay.max / 1e6 - RESOLUTION_MS));
    this.#latest = {
      steps_per_second: (steps - this.#steps) / seconds,
      cpu_share: (cpuSeconds() - this.#cpu) / seconds,
      loop_lag_ms: Math.max(0, lag),
    };
    const before = this.#counts;
    this.#window.push(latency.counts.map((count, i) => count - (before[i] as number)));
    if (this.#window.length > WINDOW) this.#window.shift();
    delay.reset();
    this.#mark();
  }

  #mark(): void {
    this.#at = performance.now();
    this.#steps = this.#statistics.counts.openenv_steps_total;
    this.#cpu = cpuSeconds();
    this.#counts = this.#statistics.counts.openenv_step_duration_seconds.counts.slice();
  }
}

export function cpuSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}

/** The number of open file descriptors; null where the system does not report it. */
export async function openDescriptors(): Promise<number | null> {
  try {
    // Linux reports the number of entries as the size of this folder: there is no need to list them.
    const { size } = await stat("/proc/self/fd");
    return size > 0 ? size : (await readdir("/proc/self/fd")).length;
  } catch {
    return null;
  }
}
