import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isAhead, leastLoaded } from "./placement.js";

const member = (number: number, active: number, max = 100, waiting = 0) => ({ number, load: { active, max, waiting } });

describe("placement", () => {
  test("a full worker passes on, one that is not ahead of the others does not", () => {
    expect(isAhead({ active: 100, max: 100, waiting: 0 }, [member(1, 5)])).toBe(true);
    expect(isAhead({ active: 50, max: 100, waiting: 0 }, [member(1, 50)])).toBe(false);
    expect(isAhead({ active: 60, max: 100, waiting: 0 }, [member(1, 20)])).toBe(true);
    expect(isAhead({ active: 100, max: 100, waiting: 0 }, [])).toBe(false);
  });

  test("the next session goes where there is room and least to do, else to the shortest queue", () => {
    expect(leastLoaded([member(1, 9), member(2, 3), member(3, 7)])?.number).toBe(2);
    expect(leastLoaded([member(1, 100), member(2, 99)])?.number).toBe(2);
    expect(leastLoaded([member(1, 100, 100, 3), member(2, 100, 100, 1)])?.number).toBe(2);
    expect(leastLoaded([])).toBeUndefined();
  });

  test("never names a full worker while another has room", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 4 }), { minLength: 1, maxLength: 8 }), (loads) => {
        const members = loads.map((active, number) => member(number, active, 4));
        const chosen = leastLoaded(members);
        return chosen !== undefined && (chosen.load.active < 4 || loads.every((active) => active === 4));
      }),
    );
  });
});
