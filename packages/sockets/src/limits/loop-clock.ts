import { performance } from "node:perf_hooks";

/** Turns of the event loop that are shorter are measured about once in this time. Milliseconds. */
const SHORT_MS = 2;
/** The time after which a loop that reads nothing is measured again. Milliseconds. */
const REST_MS = 20;

/**
 * Returns when the data that the event loop reads in this turn arrived, on the clock of `performance.now()`. Data that
 * arrives while the loop is busy waits in the kernel, which does not report for how long.
 *
 * - The loop was idle before it read: the data has just arrived.
 * - It was busy: the data arrived at some time since the loop last read. The middle of that time is correct on average.
 * - This turn is not measured, because turns are short: the data waited as long as the last measured turn took.
 *
 * Call it while the loop reads, not from a timer. Before {@link startLoopClock} it returns the time of the call.
 */
export function readArrival(): number {
  const now = performance.now();
  if (state === "off") return now;
  if (arrival !== undefined) return arrival;
  if (state === "resting") return guessArrival(now);
  // The loop counts as idle only when there was nothing to read.
  arrival = nodeTiming.idleTime > idleMs ? now : (readAt + now) / 2;
  return arrival;
}

/** Starts the clock: {@link readArrival} then includes the time in the kernel. */
export function startLoopClock(): void {
  // Bun and Deno do not count the idle time of the loop.
  if (state !== "off" || nodeTiming?.idleTime === undefined) return;
  seenAt = performance.now();
  idleMs = nodeTiming.idleTime;
  measure(seenAt, 0);
  const wake = (): void => {
    if (state === "resting") look(performance.now(), true);
  };
  setInterval(wake, REST_MS).unref();
}

const { nodeTiming } = performance;
let state: "off" | "measuring" | "resting" = "off";
/** The arrival of this turn's data; undefined before the first read and in turns that are not measured. */
let arrival: number | undefined;
/** The total idle time of the loop at the last measurement. */
let idleMs = 0;
/** When the last measured turn had handled its data. */
let handledAt = 0;
/** When the loop started to read in that turn, or slightly earlier. */
let readAt = 0;
/** True when the previous turn was measured, so that the start of this one is known. */
let isWhole = false;
/** The start of a pause in which turns are not measured, its last check, and its last read without a wait. */
let restsSince = 0;
let seenAt = 0;
let freshAt = 0;
/** The time that the last short turn was busy. */
let shortMs = 0;

function guessArrival(now: number): number {
  const blockedMs = look(now, now - restsSince >= SHORT_MS);
  const guess = blockedMs > 0 ? now - blockedMs / 2 : Math.max(now - shortMs, freshAt);
  if (state === "measuring") arrival = guess;
  return guess;
}

/** Measures turns again after a pause, or because the loop is blocked. Returns for how long it was blocked. */
function look(now: number, isRested: boolean): number {
  const idle = nodeTiming.idleTime - idleMs;
  const busy = now - seenAt - idle;
  const blockedMs = busy > SHORT_MS && busy > idle ? busy : 0;
  seenAt = now;
  idleMs += idle;
  if (idle > 0) freshAt = now;
  if (isRested || blockedMs > 0) measure(now, blockedMs);
  return blockedMs;
}

function measure(now: number, blockedMs: number): void {
  state = "measuring";
  isWhole = false;
  handledAt = now;
  readAt = now - blockedMs;
  // Unreferenced, it runs once a turn, and neither wakes the loop nor keeps it from sleeping.
  setImmediate(mark).unref();
}

/** Takes some microseconds, which is a lot compared with a short turn. */
function mark(): void {
  const now = performance.now();
  const turnMs = now - handledAt;
  const idle = nodeTiming.idleTime - idleMs;
  readAt = handledAt + idle;
  handledAt = seenAt = now;
  idleMs += idle;
  arrival = undefined;
  if (isWhole && turnMs < SHORT_MS) {
    state = "resting";
    restsSince = now;
    shortMs = turnMs - idle;
  } else {
    isWhole = true;
    setImmediate(mark).unref();
  }
}
