import { expect, test } from "vitest";
import { Fifo } from "./fifo.js";

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
