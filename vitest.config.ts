import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

const TESTS = "**/*.test.{ts,mjs}";
/** Tests that need more than Node and npm, or are slow: `npm run test:system`. `npm test` runs all others. */
const SYSTEM = "**/*.system.test.{ts,mjs}";
const GENERATED = ["**/node_modules/**", "**/dist/**", "**/.cache/**", "**/.openenv/**"];
/** Small files whose tests take long: vitest begins with the largest files, and one of these alone would be last. */
const LONG = /\/(docs\/code|conformance\/replay\/replay|scripts\/elsewhere)\.(system\.)?test\./;

class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isOther = ({ moduleId }: TestSpecification): number => Number(!LONG.test(moduleId));
    return (await super.sort(files)).toSorted((a, b) => isOther(a) - isOther(b));
  }
}

/** Our packages are their sources: no build is needed between an edit and a test. */
const CONDITIONS = ["openenv-source", "module", "node", "development|production"];

export default defineConfig({
  resolve: { conditions: CONDITIONS },
  ssr: { resolve: { conditions: CONDITIONS, externalConditions: ["openenv-source"] } },
  test: {
    pool: "forks",
    // Much of the time is waiting, for processes and containers, so one more than the two cores of CI; four are no faster.
    maxWorkers: 3,
    sequence: { sequencer: LongFirst },
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // What is polled for comes in milliseconds, and in seconds on a machine with other work.
    expect: { poll: { timeout: 10_000 } },
    // What was built is loaded as its users load it.
    server: { deps: { external: [/\/dist\//] } },
    reporters: [fileURLToPath(new URL("scripts/notes-reporter.mjs", import.meta.url)), "default"],
    projects: [
      // The files share processes: to start one for each and load everything again is a quarter of the work.
      { extends: true, test: { name: "core", isolate: false, include: [TESTS], exclude: [...GENERATED, SYSTEM] } },
      { extends: true, test: { name: "system", include: [SYSTEM], exclude: GENERATED } },
    ],
  },
});
