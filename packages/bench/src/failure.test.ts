import { expect, test } from "vitest";
import { describeFailure } from "./failure.js";

test("a failure is described with its type once", () => {
  expect(describeFailure("TIMEOUT", "an answer did not come")).toBe("TIMEOUT: an answer did not come");
  expect(describeFailure("VALIDATION_ERROR", "VALIDATION_ERROR: Invalid message")).toBe(
    "VALIDATION_ERROR: Invalid message",
  );
});
