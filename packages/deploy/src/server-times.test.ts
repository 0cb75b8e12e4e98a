import { expect, test } from "vitest";
import { countSilentChecks, stopSeconds } from "./server-times.js";

test.each([
  [{}, 60],
  [{ WORKER_TIMEOUT: "90" }, 120],
  [{ WORKER_TIMEOUT: "5", STEP_TIMEOUT: "600" }, 630],
  [{ WORKER_TIMEOUT: "", STEP_TIMEOUT: "soon" }, 60],
])("a server with %j is restarted after %i s of silence", (variables, seconds) => {
  for (const interval of [1, 5, 10]) expect(countSilentChecks(interval, variables) * interval).toBe(seconds);
});

test.each([
  [{}, 10],
  [{ SHUTDOWN_DRAIN: "7", SHUTDOWN_GRACE: "1" }, 10],
  [{ SHUTDOWN_DRAIN: "30" }, 40],
  [{ SHUTDOWN_DRAIN: "0.5", SHUTDOWN_GRACE: " " }, 11],
  [{ SHUTDOWN_DRAIN: "-1", SHUTDOWN_GRACE: "Infinity" }, 10],
])("a server with %j may be killed %i s after the stop signal", (variables, seconds) => {
  expect(stopSeconds(variables)).toBe(seconds);
});
