import { expect, test } from "vitest";
import { describeFailure } from "./failure.js";

test("a failure is described with its type once", () => {
  expect(describeFailure("TIMEOUT", "no response in time")).toBe("TIMEOUT: no response in time");
  expect(describeFailure("VALIDATION_ERROR", "VALIDATION_ERROR: Invalid message")).toBe(
    "VALIDATION_ERROR: Invalid message",
  );
});
