import { performance } from "node:perf_hooks";

/**
 * When what the event loop reads in this turn has arrived, by the clock of `performance.now()`. Data that arrives while
 * the loop is busy waits in the kernel, which does not report for how long.
 *
 * - The loop was idle before it read: the data has just arrived.
 * - It was not: the data arrived at some time since the loop last read. The middle of that time is right on average.
 *
 * Called while the loop reads, not from a timer. Before {@link startLoopClock} it is the time of the call.
 */
export function readArrival(): number {
  return isMarking ? (arrival ??= estimateArrival()) : performance.now();
}

/** From now on {@link readArrival} counts the time in the kernel. It costs some microseconds in each turn of the loop. */
export function startLoopClock(): void {
  if (!isMarking) startMarking();
}

const { nodeTiming } = performance;
let isMarking = false;
let arrival: number | undefined;
/** Of the latest turn that is complete: when it had handled what it read, and the idle time of the loop until then. */
let handledAt = 0;
let idleMs = 0;
/** When that turn began to read, or a little earlier. */
let readAt = 0;

function estimateArrival(): number {
  const now = performance.now();
  // Time counts as idle only when nothing was there to read.
  return nodeTiming.idleTime > idleMs ? now : (readAt + now) / 2;
}

function startMarking(): void {
  isMarking = true;
  readAt = handledAt = performance.now();
  idleMs = nodeTiming.idleTime;
  // Unreferenced, it runs once a turn and neither wakes the loop nor keeps it from waiting.
  setImmediate(mark).unref();
}

function mark(): void {
  setImmediate(mark).unref();
  const idle = nodeTiming.idleTime;
  readAt = handledAt + (idle - idleMs);
  handledAt = performance.now();
  idleMs = idle;
  arrival = undefined;
}
