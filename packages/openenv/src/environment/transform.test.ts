import { expect, test } from "vitest";
import { composeTransforms, type Transform } from "./transform.js";

const double: Transform = (transition) => ({ ...transition, reward: Number(transition.reward) * 2 });
const add: Transform = (transition) => ({ ...transition, reward: Number(transition.reward) + 1 });

test("transforms apply in order", () => {
  expect(composeTransforms(double, add)({ observation: {}, reward: 3 }).reward).toBe(7);
  expect(composeTransforms(add, double)({ observation: {}, reward: 3 }).reward).toBe(8);
});

test("no transforms change nothing", () => {
  const transition = { observation: {}, reward: 3 };
  expect(composeTransforms()(transition)).toBe(transition);
});

test("composed transforms can be composed again", () => {
  expect(composeTransforms(composeTransforms(add, add), double)({ observation: {}, reward: 0 }).reward).toBe(4);
});
