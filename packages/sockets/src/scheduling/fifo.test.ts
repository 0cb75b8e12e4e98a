import { expect, test } from "vitest";
import { Fifo } from "./fifo.js";

const METHODS = ["shift", "splice", "copyWithin", "slice"] as const;

/** Runs with the methods that move entries counted, and returns the entries that slices copied and the other calls. */
function countMoves(run: () => void): { copied: number; calls: number } {
  const counts = { copied: 0, calls: 0 };
  const originals = METHODS.map((name) => Object.getOwnPropertyDescriptor(Array.prototype, name) as PropertyDescriptor);
  for (const [i, name] of METHODS.entries()) {
    const original = originals[i]?.value as (...args: unknown[]) => unknown;
    const counted = function (this: unknown[], ...args: unknown[]): unknown {
      const result = Reflect.apply(original, this, args);
      if (name === "slice") counts.copied += (result as unknown[]).length;
      else counts.calls++;
      return result;
    };
    Object.defineProperty(Array.prototype, name, { ...originals[i], value: counted });
  }
  try {
    run();
  } finally {
    for (const [i, name] of METHODS.entries()) {
      Object.defineProperty(Array.prototype, name, originals[i] as PropertyDescriptor);
    }
  }
  return counts;
}

test("600,000 entries are taken in order, with fewer than 600,000 moves", () => {
  const count = 600_000;
  const fifo = new Fifo<number>();
  for (let i = 0; i < count; i++) fifo.push(i);
  let isInOrder = true;
  const { copied, calls } = countMoves(() => {
    for (let i = 0; i < count; i++) isInOrder = fifo.shift() === i && isInOrder;
  });
  expect(isInOrder).toBe(true);
  expect(calls).toBe(0);
  expect(copied).toBeGreaterThan(0);
  expect(copied).toBeLessThan(count);
  expect([fifo.size, fifo.shift()]).toEqual([0, undefined]);
});

test("returns entries in the order they were added, whether it is emptied in between or not", () => {
  const fifo = new Fifo<number>();
  const taken: (number | undefined)[] = [];
  let next = 0;
  for (let round = 0; round < 200; round++) {
    for (let i = 0; i < 50; i++) fifo.push(next++);
    for (let i = 0; i < 30; i++) taken.push(fifo.shift());
  }
  expect(fifo.size).toBe(200 * 20);
  while (fifo.size > 0) taken.push(fifo.shift());
  expect(taken).toEqual(Array.from({ length: next }, (_, i) => i));
  expect(fifo.shift()).toBeUndefined();
  fifo.push(1);
  fifo.clear();
  expect([fifo.size, fifo.shift()]).toEqual([0, undefined]);
});
