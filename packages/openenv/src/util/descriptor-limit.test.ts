import { expect, it } from "vitest";
import { descriptorLimit } from "./descriptor-limit.js";

it("reads the limit of this process", () => {
  expect(descriptorLimit()).toBeGreaterThan(100);
});

it("sets no limit for a process that it cannot read", () => {
  expect(descriptorLimit(2 ** 30)).toBe(Number.POSITIVE_INFINITY);
});
