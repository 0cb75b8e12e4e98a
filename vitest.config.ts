import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: [
      "openenv/**/*.test.ts",
      "envs/**/*.test.ts",
      "conformance/**/*.test.ts",
      "examples/**/*.test.ts",
      "bench/**/*.test.ts",
      "docs/**/*.test.ts",
      "web/**/*.test.ts",
      "scripts/**/*.test.mjs",
    ],
    exclude: ["**/node_modules/**", "**/dist/**", "**/.cache/**", "**/.openenv/**"],
    pool: "forks",
    // Much of the time is waiting, for processes and containers, so one more than the two cores of CI; four are no faster.
    maxWorkers: 3,
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // What is polled for comes in milliseconds, and in seconds on a machine with other work.
    expect: { poll: { timeout: 10_000 } },
    // Schedulers, engines and browsers on a machine that is shared: in CI a test that a broken connection or a limit of time
    // has ended runs once more, and the end of the output names it, as that is a defect too. An expectation that does not
    // hold fails at once.
    retry: process.env["CI"] ? { count: 1, condition: /^(?!expected |promise )/ } : 0,
    reporters: [fileURLToPath(new URL("scripts/notes-reporter.mjs", import.meta.url)), "default"],
  },
});
