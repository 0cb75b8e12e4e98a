import { expect, it } from "vitest";
import { planProcesses } from "./limits.js";

it("takes as many processes as the descriptors ask, or more when told", () => {
  expect(planProcesses(900, undefined, 1000)).toBe(1);
  expect(planProcesses(901, undefined, 1000)).toBe(2);
  expect(planProcesses(900, 3, 1000)).toBe(3);
  expect(planProcesses(1_000_000, undefined, Number.POSITIVE_INFINITY)).toBe(1);
});

it("says what to do when the connections do not fit", () => {
  expect(() => planProcesses(2000, 2, 1000)).toThrow(/2000 connections do not fit in 2.*--processes 3/);
  expect(() => planProcesses(1_000_000, undefined, 1000)).toThrow(/ulimit -n.*64 is the most/);
});
