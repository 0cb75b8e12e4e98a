import { monitorEventLoopDelay, performance } from "node:perf_hooks";
import type { ClientUse } from "../types.js";

/** The timer that samples the delay; what it measures without any load is this. */
const RESOLUTION_MS = 10;

/** Watches what this process spends on a load, so that it can say when it was the limit itself. */
export function watchClient(): () => ClientUse {
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  delay.enable();
  const before = performance.eventLoopUtilization();
  const cpu = process.cpuUsage();
  return () => {
    delay.disable();
    const { user, system } = process.cpuUsage(cpu);
    const late = delay.percentile(99) / 1e6 - RESOLUTION_MS;
    return {
      lagMs: Math.max(0, Math.round(late * 10) / 10),
      busy: Math.round(performance.eventLoopUtilization(before).utilization * 1000) / 1000,
      cpuSeconds: (user + system) / 1e6,
    };
  };
}

/** The use of several generators as one. */
export function joinUse(uses: readonly ClientUse[]): ClientUse {
  return {
    lagMs: Math.max(0, ...uses.map(({ lagMs }) => lagMs)),
    busy: Math.max(0, ...uses.map(({ busy }) => busy)),
    cpuSeconds: uses.reduce((sum, { cpuSeconds }) => sum + cpuSeconds, 0),
  };
}

/** A client that is late by this much tells its own times, not the server's. */
const LATE_MS = 20;
const LATE_PART = 0.1;
const FULLY_BUSY = 0.95;

/**
 * Whether what a burst measured is the client's own slowness: it was late to read answers, or to start requests.
 * `startsMs` is how long it took to start all, `typicalMs` the median of a whole request.
 */
export function limitsBurst({ lagMs }: ClientUse, startsMs: number, typicalMs: number | null): boolean {
  return Math.max(lagMs, startsMs) > Math.max(LATE_MS, LATE_PART * (typicalMs ?? 0));
}

/** Whether more steps could have been had with more generators. */
export function limitsSteps({ busy }: ClientUse): boolean {
  return busy > FULLY_BUSY;
}
