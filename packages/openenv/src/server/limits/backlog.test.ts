import { expect, test } from "vitest";
import { ByteBudget } from "./backlog.js";

test("gives out no more than its limit, and again what came back", () => {
  const budget = new ByteBudget(10);
  expect(budget.take(6)).toBe(true);
  expect(budget.take(5)).toBe(false);
  expect(budget.take(4)).toBe(true);
  expect(budget.used).toBe(10);
  budget.give(6);
  expect(budget.take(6)).toBe(true);
});
