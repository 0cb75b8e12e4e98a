import { expect, test } from "vitest";
import { ByteBudget } from "./byte-budget.js";

test("hands out at most its limit, and again what was returned", () => {
  const budget = new ByteBudget(10);
  expect(budget.take(6)).toBe(true);
  expect(budget.take(5)).toBe(false);
  expect(budget.take(4)).toBe(true);
  expect(budget.used).toBe(10);
  budget.give(6);
  expect(budget.take(6)).toBe(true);
});
