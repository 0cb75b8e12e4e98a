import { expect, test } from "vitest";
import type { ServerViewError } from "../../../../openenv/src/protocol/web.js";
import { errorKeys } from "./error-keys.js";

const error = (message: string): ServerViewError => ({
  at: 1000,
  code: "EXECUTION_ERROR",
  fault: "environment",
  message,
  worker: 0,
  session_id: null,
  step: null,
});

test("equal errors have different keys, which stay when another one arrives", () => {
  const before = errorKeys([error("b"), error("a"), error("a")]);
  expect(new Set(before).size).toBe(3);
  expect(errorKeys([error("a"), error("b"), error("a"), error("a")]).slice(1)).toEqual(before);
});
