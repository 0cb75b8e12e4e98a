import { performance } from "node:perf_hooks";

/** Of turns of the event loop that take less, about one in this time is measured. Milliseconds. */
const SHORT_MS = 2;
/** When a loop that reads nothing is measured again. */
const REST_MS = 20;

/**
 * When what the event loop reads in this turn has arrived, by the clock of `performance.now()`. Data that arrives while
 * the loop is busy waits in the kernel, which does not report for how long.
 *
 * - The loop was idle before it read: the data has just arrived.
 * - It was not: the data arrived at some time since the loop last read. The middle of that time is right on average.
 * - This turn is not measured, because turns are short: the data waited as long as the latest measured turn took.
 *
 * Called while the loop reads, not from a timer. Before {@link startLoopClock} it is the time of the call.
 */
export function readArrival(): number {
  const now = performance.now();
  if (state === "off") return now;
  if (arrival !== undefined) return arrival;
  if (state === "resting") return guessArrival(now);
  // Time counts as idle only when nothing was there to read.
  arrival = nodeTiming.idleTime > idleMs ? now : (readAt + now) / 2;
  return arrival;
}

/** From now on {@link readArrival} counts the time in the kernel. */
export function startLoopClock(): void {
  if (state !== "off") return;
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
/** Of what this turn reads; undefined before the first read and in turns that are not measured. */
let arrival: number | undefined;
/** At the latest look: the idle time of the loop so far. */
let idleMs = 0;
/** When the turn that was measured last had handled what it read. */
let handledAt = 0;
/** When the loop began to read in that turn, or a little earlier. */
let readAt = 0;
/** The turn began when the one before it was measured. */
let isWhole = false;
/** While turns are not measured: since when, the latest look, and the latest read of what had not waited. */
let restsSince = 0;
let seenAt = 0;
let freshAt = 0;
/** How long the latest short turn was busy. */
let shortMs = 0;

function guessArrival(now: number): number {
  const blockedMs = look(now, now - restsSince >= SHORT_MS);
  const guess = blockedMs > 0 ? now - blockedMs / 2 : Math.max(now - shortMs, freshAt);
  if (state === "measuring") arrival = guess;
  return guess;
}

/** Measures turns again after a rest, or because something blocks the loop. Returns for how long it was blocked. */
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
  // Unreferenced, it runs once a turn and neither wakes the loop nor keeps it from waiting.
  setImmediate(mark).unref();
}

/** It costs some microseconds, which is much beside a short turn. */
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
