import { describe, expect, test } from "vitest";
import * as z from "zod";
import { defineContract } from "../contract/contract.js";
import { defineEnvironment } from "./define-environment.js";
import { isEnvironmentDefinition } from "./environment.js";

const counter = defineContract({
  name: "counter_env",
  action: z.object({ amount: z.int() }),
  observation: z.object({ count: z.int() }),
});

class Counter {
  count = 0;
  reset() {
    this.count = 0;
    return { observation: { count: this.count } };
  }
  step({ amount }: { amount: number }) {
    this.count += amount;
    return { observation: { count: this.count }, reward: amount };
  }
}

describe("an environment", () => {
  test("by default runs many sessions and requires a reset first", () => {
    const definition = defineEnvironment(counter, () => new Counter());
    expect(definition).toMatchObject({ supportsConcurrentSessions: true, stepBeforeReset: "error" });
    expect(definition.contract).toBe(counter);
    const other = defineEnvironment(counter, () => new Counter(), {
      supportsConcurrentSessions: false,
      stepBeforeReset: "allow",
      author: "Ada",
    });
    expect(other).toMatchObject({ supportsConcurrentSessions: false, stepBeforeReset: "allow", author: "Ada" });
  });

  test("creates a separate instance for each session", async () => {
    const definition = defineEnvironment(counter, () => new Counter());
    const [one, two] = [await definition.create(), await definition.create()];
    expect(one).not.toBe(two);
  });

  test("accepts an async factory, closures, methods and async functions", async () => {
    const closure = defineEnvironment(counter, async () => new Counter());
    expect(await closure.create()).toBeInstanceOf(Counter);
    const plain = function makeCounter() {
      return new Counter();
    };
    expect(await defineEnvironment(counter, plain).create()).toBeInstanceOf(Counter);
  });
});

describe("instead of a factory", () => {
  test("an instance is a TypeError with the correct code", () => {
    const define = () => defineEnvironment(counter, new Counter() as never);
    expect(define).toThrow(TypeError);
    expect(define).toThrow("() => new MyEnvironment()");
  });

  test("a class is a TypeError that names it", () => {
    const define = () => defineEnvironment(counter, Counter as never);
    expect(define).toThrow(TypeError);
    expect(define).toThrow("() => new Counter()");
  });

  test.each([[undefined], [null], ["Counter"], [{}]])("%j is a TypeError", (factory) => {
    expect(() => defineEnvironment(counter, factory as never)).toThrow(TypeError);
  });
});

test("a definition is recognised, also from another copy of this package", () => {
  expect(isEnvironmentDefinition(defineEnvironment(counter, () => new Counter()))).toBe(true);
  expect(isEnvironmentDefinition({ [Symbol.for("openenv.environment")]: true })).toBe(true);
  for (const other of [undefined, null, 1, "x", {}, counter, () => new Counter()]) {
    expect(isEnvironmentDefinition(other)).toBe(false);
  }
});
