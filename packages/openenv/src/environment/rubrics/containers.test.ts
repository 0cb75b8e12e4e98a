import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Fixed, late } from "../../../../../test-support/environments/rubrics.js";
import { Gate } from "./gate.js";
import { RubricDict } from "./rubric-dict.js";
import { RubricList } from "./rubric-list.js";
import { Sequential } from "./sequential.js";
import { WeightedSum } from "./weighted-sum.js";

describe("a sequence", () => {
  test.each([
    ["sync", (score: number) => new Fixed(score)],
    ["async", late],
  ])("stops at the first 0, otherwise returns the last score: %s", async (_, make) => {
    const last = make(0.7);
    expect(await new Sequential(make(1), make(0.2), last).score({}, {})).toBe(0.7);
    expect(await new Sequential(make(1), make(0), last).score({}, {})).toBe(0);
    expect(last.asked).toBe(1);
  });

  test("of sync rubrics is sync, and runs mixed rubrics in order", async () => {
    expect(new Sequential(new Fixed(1), new Fixed(0.5)).score({}, {})).toBe(0.5);
    expect(new Sequential().score({}, {})).toBe(1);
    const order: string[] = [];
    const noted = (name: string, rubric: Fixed) => {
      rubric.addPreHook(() => void order.push(name));
      return rubric;
    };
    const mixed = new Sequential(noted("a", new Fixed(1)), noted("b", late(1)), noted("c", new Fixed(0.3)));
    expect(await mixed.score({}, {})).toBe(0.3);
    expect(order).toEqual(["a", "b", "c"]);
    expect(mixed.namedChildren().map(([name]) => name)).toEqual(["rubric_0", "rubric_1", "rubric_2"]);
  });
});

describe("a gate", () => {
  test.each([
    [0.5, 0.5, 0.5],
    [0.49, 0.5, 0],
    [1, undefined, 1],
    [0.99, undefined, 0],
    [-1, -2, -1],
  ])("turns the score %s at the threshold %s into %s", async (score, threshold, given) => {
    expect(new Gate(new Fixed(score), threshold).score({}, {})).toBe(given);
    expect(await new Gate(late(score), threshold).score({}, {})).toBe(given);
  });

  test("restores its threshold and rejects an invalid one", () => {
    const gate = new Gate(new Fixed(0.5), 0.2);
    const other = new Gate(new Fixed(0.5));
    other.loadStateDict(gate.stateDict());
    expect([other.threshold, other.score({}, {})]).toEqual([0.2, 0.5]);
    expect(() => new Gate(new Fixed(1), Number.NaN)).toThrow("must be a finite number");
    expect(() => other.loadStateDict({ "": { threshold: "1" }, rubric: {} })).toThrow("the rubric Gate failed");
    expect(other.threshold).toBe(0.2);
  });
});

describe("a weighted sum", () => {
  // Results of openenv 0.10.0 (PyPI): WeightedSum([...], weights)(action, observation).
  test.each([
    [[1, 0.5], [0.7, 0.3], 0.85],
    [[0.1, 0.2, 0.3], [0.2, 0.3, 0.5], 0.22999999999999998],
    [[1, 0, 0.25, 0.75], [0.25, 0.25, 0.25, 0.25], 0.5],
    [[-1, 2], [1.5, -0.5], -2.5],
  ])("of %j with weights %j equals that of the Python package", async (scores, weights, total) => {
    const sync = scores.map((score) => new Fixed(score));
    expect(new WeightedSum(sync, weights).score({}, {})).toBe(total);
    const mixed = scores.map((score, index) => (index % 2 === 0 ? late(score) : new Fixed(score)));
    expect(await new WeightedSum(mixed, weights).score({}, {})).toBe(total);
  });

  test("lies between the lowest and the highest score", () => {
    const parts = fc.array(
      fc.record({ score: fc.double({ min: -1, max: 1, noNaN: true }), part: fc.integer({ min: 1, max: 1000 }) }),
      {
        minLength: 1,
        maxLength: 8,
      },
    );
    fc.assert(
      fc.property(parts, (given) => {
        const whole = given.reduce((sum, { part }) => sum + part, 0);
        const scores = given.map(({ score }) => score);
        const weights = given.map(({ part }) => part / whole);
        const sum = new WeightedSum(
          scores.map((score) => new Fixed(score)),
          weights,
        ).score({}, {}) as number;
        expect(sum).toBeGreaterThanOrEqual(Math.min(...scores) - 1e-9);
        expect(sum).toBeLessThanOrEqual(Math.max(...scores) + 1e-9);
        const same = new WeightedSum(
          scores.map(() => new Fixed(scores[0] as number)),
          weights,
        ).score({}, {});
        expect(same).toBeCloseTo(scores[0] as number, 9);
      }),
    );
  });

  test("names its children by the keys of records", () => {
    const sum = new WeightedSum({ tests: new Fixed(1), style: new Fixed(0.5) }, { style: 0.4, tests: 0.6 });
    expect(sum.score({}, {})).toBeCloseTo(0.8, 12);
    expect(sum.namedChildren().map(([name]) => name)).toEqual(["tests", "style"]);
    expect(sum.weights).toEqual({ tests: 0.6, style: 0.4 });
  });

  test("runs its async children in parallel", async () => {
    let open = 0;
    let most = 0;
    const slow = () =>
      new Fixed(async () => {
        most = Math.max(most, ++open);
        await new Promise((resolve) => setTimeout(resolve, 5));
        open--;
        return 1;
      });
    expect(await new WeightedSum([slow(), slow(), slow()], [0.25, 0.25, 0.5]).score({}, {})).toBe(1);
    expect(most).toBe(3);
  });

  test("waits for all children when one fails, so that none runs during the next step", async () => {
    let ended = false;
    const slow = new Fixed(async () => {
      await new Promise((resolve) => setTimeout(resolve, 20));
      ended = true;
      return 1;
    });
    const failing = new Fixed(() => {
      throw new Error("no");
    });
    await expect(new WeightedSum([slow, failing], [0.5, 0.5]).score({}, {})).rejects.toThrow(
      "the rubric rubric_1 failed",
    );
    expect(ended).toBe(true);
  });

  test.each([
    [[1], "Got 1 weights for 2 rubrics"],
    [[0.5, 0.6], "Weights must sum to 1, got a sum of 1.1"],
    [[Number.NaN, 1], "The weight of rubric_0 must be a finite number, not NaN"],
    [{ tests: 1, stile: 0 }, "Unknown rubric in weights: stile"],
    [{ tests: 1 }, "The weight of style must be a finite number, not undefined"],
  ])("rejects the weights %j", (weights, message) => {
    const rubrics = { tests: new Fixed(1), style: new Fixed(1) };
    const make = () =>
      Array.isArray(weights)
        ? new WeightedSum(Object.values(rubrics), weights)
        : new WeightedSum(rubrics, weights as never);
    expect(make).toThrow(message);
  });

  test("accepts thirds, and restores its weights", () => {
    const thirds = new WeightedSum(
      [1, 2, 3].map((score) => new Fixed(score)),
      [1 / 3, 1 / 3, 1 / 3],
    );
    const other = new WeightedSum(
      [1, 2, 3].map((score) => new Fixed(score)),
      [1, 0, 0],
    );
    other.loadStateDict(thirds.stateDict());
    expect(other.score({}, {})).toBeCloseTo(2, 12);
    expect(() => other.loadStateDict({ ...thirds.stateDict(), "": { weights: [2, 0, 0] } })).toThrow("failed");
  });
});

describe("lists and dictionaries", () => {
  test("have no score themselves", () => {
    expect(() => new RubricList([new Fixed(1)]).score({}, {})).toThrow("the rubric RubricList failed");
    expect(() => new RubricDict({ a: new Fixed(1) }).score({}, {})).toThrow("the rubric RubricDict failed");
  });

  test("return their items, and list the known ones in errors", () => {
    const list = new RubricList([new Fixed(0)]);
    list.append(new Fixed(1), new Fixed(2));
    expect([...list].map((item) => item.score({}, {}))).toEqual([0, 1, 2]);
    expect([list.length, list.at(-1).score({}, {})]).toEqual([3, 2]);
    expect(() => list.at(3)).toThrow("No rubric at index 3; the list has 3.");
    const dict = new RubricDict({ a: new Fixed(1) });
    dict.set("__proto__", new Fixed(2));
    expect([...dict].map(([key]) => key)).toEqual(["a", "__proto__"]);
    expect([dict.size, dict.has("a"), dict.has("b"), dict.get("a").score({}, {})]).toEqual([2, true, false, 1]);
    expect(() => dict.get("b")).toThrow('No rubric with the key "b"; known keys: a, __proto__');
    for (const key of ["", "a.b"])
      expect(() => dict.set(key, new Fixed(1))).toThrow('must not be empty or contain "."');
  });
});
