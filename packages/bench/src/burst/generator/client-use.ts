import { monitorEventLoopDelay, performance } from "node:perf_hooks";
import type { ClientUse } from "../types.js";

/** Resolution of the timer that samples the delay, and the value that it measures without load. */
const RESOLUTION_MS = 10;

/** Measures the load of this process, to detect when the client itself was the limit. */
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

/** Combines the use of several generators. */
export function joinUse(uses: readonly ClientUse[]): ClientUse {
  return {
    lagMs: Math.max(0, ...uses.map(({ lagMs }) => lagMs)),
    busy: Math.max(0, ...uses.map(({ busy }) => busy)),
    cpuSeconds: uses.reduce((sum, { cpuSeconds }) => sum + cpuSeconds, 0),
  };
}

/** With more delay than this, the results are the client's times and not the server's. */
const LATE_MS = 20;
const LATE_PART = 0.1;
const FULLY_BUSY = 0.95;

/**
 * True when the client limited a burst: it was late to read responses or to start requests. `startsMs` is the time to
 * start all requests, `typicalMs` the median of a whole request.
 */
export function limitsBurst({ lagMs }: ClientUse, startsMs: number, typicalMs: number | null): boolean {
  return Math.max(lagMs, startsMs) > Math.max(LATE_MS, LATE_PART * (typicalMs ?? 0));
}

/** True when more generators could have done more steps. */
export function limitsSteps({ busy }: ClientUse): boolean {
  return busy > FULLY_BUSY;
}
