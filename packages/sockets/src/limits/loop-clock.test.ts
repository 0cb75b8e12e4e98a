import { setImmediate as turn } from "node:timers/promises";
import { afterEach, expect, test, vi } from "vitest";

// Its own copy: other tests start the clock of the process.
vi.resetModules();
const { readArrival, startLoopClock } = await import("./loop-clock.js");

const TURNS = 5000;
const BLOCKED_MS = 60;

afterEach(() => {
  vi.restoreAllMocks();
});

/** How long the data that is read now has waited. */
function waited(): number {
  const arrivedAt = readArrival();
  return performance.now() - arrivedAt;
}

test("measures only some short turns, and detects a long turn after them", async () => {
  startLoopClock();
  const scheduled = vi.spyOn(globalThis, "setImmediate");
  const waits: number[] = [];
  for (let i = 0; i < TURNS; i++) {
    waits.push(waited());
    await turn();
  }
  expect(scheduled.mock.calls.length).toBeGreaterThan(0);
  expect(scheduled.mock.calls.length).toBeLessThan(TURNS / 2);
  expect(Math.min(...waits)).toBeGreaterThanOrEqual(0);
  for (let i = 0; i < 10; i++) {
    readArrival();
    const end = performance.now() + BLOCKED_MS;
    while (performance.now() < end);
    await turn();
    // All data of the next turn arrived at some time while the loop was blocked.
    expect(waited()).toBeGreaterThanOrEqual(BLOCKED_MS / 2 - 1);
    expect(waited()).toBeGreaterThanOrEqual(BLOCKED_MS / 2 - 1);
    for (let k = 0; k < 20; k++) await turn();
  }
});
