import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { leastLoaded, roomElsewhere, shouldHandOff, surplus } from "./placement.js";

const load = (active: number, max = 1000, waiting = 0, unclaimed = 0) => ({
  active,
  max,
  waiting,
  queueSize: 1000,
  unclaimed,
});
const peer = (number: number, active: number, max = 100, waiting = 0, due = 0) => ({
  number,
  load: load(active, max, waiting),
  due,
  retiring: false,
});

describe("placement", () => {
  test("a worker above the average passes on half of its surplus, one near the average nothing", () => {
    expect(surplus(load(150), [peer(1, 100, 1000)])).toBe(0);
    expect(surplus(load(40), [peer(1, 10, 1000)])).toBe(0);
    expect(surplus(load(48), [peer(1, 0, 1000), peer(2, 0, 1000)])).toBe(16);
    expect(surplus(load(110), [peer(1, 90, 1000)])).toBe(0);
    expect(surplus(load(12), [peer(1, 0, 1000)])).toBe(0);
    expect(surplus(load(500), [])).toBe(0);
  });

  test("at most 8 sockets are on their way to a worker to even out loads", () => {
    expect(surplus(load(2000), [peer(1, 100, 1000)])).toBe(8);
    expect(surplus(load(2000), [peer(1, 100, 1000, 0, 6)])).toBe(2);
    expect(surplus(load(2000), [peer(1, 100, 1000, 0, 20), peer(2, 100, 1000, 0, 3)])).toBe(5);
  });

  test("passing on brings shares below 1.2 and never overshoots", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 20_000 }), { minLength: 2, maxLength: 8 }), (start) => {
        const loads = [...start];
        const average = loads.reduce((sum, active) => sum + active, 0) / loads.length;
        for (let news = 0; news < 2_000; news++) {
          const seen = loads.map((active, number) => peer(number, active, 100_000));
          const passing = seen.map(({ number, load }) =>
            surplus(
              load,
              seen.filter((other) => other.number !== number),
            ),
          );
          passing.forEach((count, from) => {
            for (let i = 0; i < count; i++) {
              const to = leastLoaded(loads.map((active, number) => peer(number, active, 100_000)))?.number ?? from;
              loads[from] = (loads[from] ?? 0) - 1;
              loads[to] = (loads[to] ?? 0) + 1;
            }
          });
        }
        expect(Math.max(...loads)).toBeLessThanOrEqual(Math.max(average * 1.15 + 16, average + 1));
      }),
    );
  });

  test("a full worker passes a socket to one with room, otherwise to the shortest queue", () => {
    const full = (waiting: number, queueSize = 1000) => ({ ...load(100, 100, waiting), queueSize });
    expect(shouldHandOff(full(0), [peer(1, 5)])).toBe(true);
    expect(shouldHandOff(full(0), [peer(1, 100)])).toBe(false);
    expect(shouldHandOff(full(200), [peer(1, 100, 100, 20)])).toBe(true);
    expect(shouldHandOff(full(0, 0), [peer(1, 100)])).toBe(true);
    expect(shouldHandOff(full(0, 0), [])).toBe(false);
  });

  test("a full worker that can make room accepts a socket itself, unless another has room", () => {
    const idle = (active: number, unclaimed: number) => ({
      ...peer(1, active),
      load: load(active, 100, 0, unclaimed),
    });
    const full = (unclaimed: number) => ({ ...load(100, 100, 0, unclaimed), queueSize: 0 });
    expect(shouldHandOff(full(1), [idle(100, 1)])).toBe(false);
    expect(shouldHandOff(full(1), [idle(99, 0)])).toBe(true);
    expect(roomElsewhere(full(0), [peer(2, 100), idle(100, 1)])?.number).toBe(1);
    expect(roomElsewhere(full(1), [idle(100, 1)])).toBeUndefined();
    expect(leastLoaded([peer(2, 100), idle(100, 1)])?.number).toBe(1);
  });

  test("the next session goes to the least loaded worker with room, else to the shortest queue", () => {
    expect(leastLoaded([peer(1, 9), peer(2, 3), peer(3, 7)])?.number).toBe(2);
    expect(leastLoaded([peer(1, 100), peer(2, 99)])?.number).toBe(2);
    expect(leastLoaded([peer(1, 100, 100, 3), peer(2, 100, 100, 1)])?.number).toBe(2);
    expect(leastLoaded([])).toBeUndefined();
  });

  test("never selects a full worker while another has room", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 4 }), { minLength: 1, maxLength: 8 }), (loads) => {
        const peers = loads.map((active, number) => peer(number, active, 4));
        const chosen = leastLoaded(peers);
        return chosen !== undefined && (chosen.load.active < 4 || loads.every((active) => active === 4));
      }),
    );
  });
});
