import { onTestFinished, vi } from "vitest";

/** Until the test ends, `setInterval` fires this many times more often. */
export function speedUpIntervals(factor: number): void {
  const { setInterval } = globalThis;
  const sooner = (callback: () => void, ms = 0, ...args: []) => setInterval(callback, ms / factor, ...args);
  const spy = vi.spyOn(globalThis, "setInterval").mockImplementation(sooner as typeof setInterval);
  onTestFinished(() => spy.mockRestore());
}

/** Until the test ends, `setTimeout` fires this many times sooner: limits of seconds pass without waiting for them. */
export function speedUpTimers(factor: number): void {
  const { setTimeout } = globalThis;
  const sooner = (callback: () => void, ms = 0, ...args: []) => setTimeout(callback, ms / factor, ...args);
  const spy = vi.spyOn(globalThis, "setTimeout").mockImplementation(sooner as typeof setTimeout);
  onTestFinished(() => spy.mockRestore());
}
