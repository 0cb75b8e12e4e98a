import { afterEach, expect, test, vi } from "vitest";
import { Turns } from "./turns.js";

afterEach(() => vi.useRealTimers());

test("a task begins when the one before has ended, also with an error", async () => {
  const turns = new Turns(60_000);
  const seen: string[] = [];
  let fail = (): void => {};
  const first = turns.take(() => new Promise<void>((_, reject) => (fail = () => reject(new Error("failed")))));
  const second = turns.take(async () => void seen.push("second"));
  await new Promise(setImmediate);
  expect([turns.waiting, seen]).toEqual([1, []]);
  fail();
  await expect(first).rejects.toThrow("failed");
  await second;
  expect([turns.waiting, seen]).toEqual([0, ["second"]]);
});

test("the limit counts from the begin of each task, not from when it was queued", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const turns = new Turns(10_000);
  for (let task = 0; task < 3; task++) void turns.take(() => new Promise(() => {}));
  await vi.advanceTimersByTimeAsync(9_999);
  expect(turns.waiting).toBe(2);
  await vi.advanceTimersByTimeAsync(1);
  expect(turns.waiting).toBe(1);
  await vi.advanceTimersByTimeAsync(9_999);
  expect(turns.waiting).toBe(1);
  await vi.advanceTimersByTimeAsync(1);
  expect(turns.waiting).toBe(0);
});
