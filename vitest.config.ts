import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

const TESTS = "**/*.test.{ts,mjs}";
/** Tests that need more than Node and npm, or are slow: `npm run test:system`. `npm test` runs all others. */
const SYSTEM = "**/*.system.test.{ts,mjs}";
/** Tests on the control plane of a cluster, one file after the other: `npm run test:cluster`. */
const CLUSTER = "**/*.cluster.test.ts";
/** System tests in Chromium, whose requests fail with ERR_NETWORK_CHANGED while other tests start containers. */
const BROWSER = ["packages/web/test/*", "packages/openenv/src/server/routes/docs", "docs/site/build", "**/browser"].map(
  (path) => `${path}.system.test.ts`,
);
/** A system test that starts containers itself. */
const BROWSER_AND_CONTAINERS = "packages/web/test/docker-snippet.system.test.ts";
const GENERATED = ["**/node_modules/**", "**/dist/**", "**/.cache/**", "**/.openenv/**"];
/** Small files whose tests take long: vitest begins with the largest files, and one of these alone would be last. */
const LONG =
  /\/(docs\/code|docs\/training|conformance\/replay\/replay|scripts\/elsewhere|python\/python-package)\.(system\.)?test\./;

class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isOther = ({ moduleId }: TestSpecification): number => Number(!LONG.test(moduleId));
    return (await super.sort(files)).toSorted((a, b) => isOther(a) - isOther(b));
  }
}

interface Manifest {
  name: string;
  private?: boolean;
  exports?: Record<string, unknown>;
}

interface Alias {
  find: RegExp;
  replacement: string;
}

const PACKAGES = fileURLToPath(new URL("packages", import.meta.url));
/** The modules of openenv-ts have this name in the parts that use it. */
const CORE: Alias = { find: /^#core\/(.*)\.js$/, replacement: join(PACKAGES, "openenv/src/$1.ts") };

/**
 * Our packages are their sources: no build is needed between an edit and a test. By name and not by the condition, which
 * Node would also apply to what is built.
 */
function sources({ onlyParts = false } = {}): Alias[] {
  const named = readdirSync(PACKAGES).flatMap((folder) => {
    const text = readFileSync(join(PACKAGES, folder, "package.json"), "utf8");
    const { name, exports = {}, private: isPart = false } = JSON.parse(text) as Manifest;
    if (onlyParts && !isPart) return [];
    // The name that openenv-ts has for a part of it, and the name of any other package.
    const prefix = isPart ? `#parts/${folder}` : name;
    return Object.entries(exports).flatMap(([entry, target]) => {
      const source = (target as { "openenv-source"?: string })["openenv-source"];
      if (source === undefined) return [];
      return [{ find: new RegExp(`^${prefix}${entry.slice(1)}$`), replacement: join(PACKAGES, folder, source) }];
    });
  });
  return [...named, CORE];
}

export default defineConfig({
  test: {
    pool: "forks",
    // Much of the time is waiting, for processes and containers, so one more than the two cores of CI; four are no faster.
    maxWorkers: 3,
    sequence: { sequencer: LongFirst },
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // What is polled for comes in milliseconds, and in seconds on a machine with other work.
    expect: { poll: { timeout: 10_000 } },
    // What was built, and projects that use it, are loaded as users load them.
    server: { deps: { external: [/\/dist\//, /\/\.cache\//] } },
    reporters: [fileURLToPath(new URL("scripts/notes-reporter.mjs", import.meta.url)), "default"],
    projects: [
      // The files share processes: to start one for each and load everything again is a quarter of the work.
      {
        extends: true,
        resolve: { alias: sources() },
        test: { name: "core", isolate: false, include: [TESTS], exclude: [...GENERATED, SYSTEM, CLUSTER] },
      },
      // Other processes run what is built, so these tests do, too: servers of providers, isolates, programs of users. What
      // they import from a folder is a source, and so are its parts.
      {
        extends: true,
        resolve: { alias: sources({ onlyParts: true }) },
        test: { name: "system", include: [SYSTEM], exclude: [...GENERATED, ...BROWSER] },
      },
      // After all others.
      {
        extends: true,
        resolve: { alias: sources({ onlyParts: true }) },
        test: {
          name: "system-browser",
          include: BROWSER,
          exclude: [...GENERATED, BROWSER_AND_CONTAINERS],
          sequence: { groupOrder: 1 },
        },
      },
      {
        extends: true,
        resolve: { alias: sources({ onlyParts: true }) },
        test: { name: "system-browser-last", include: [BROWSER_AND_CONTAINERS], sequence: { groupOrder: 2 } },
      },
      {
        extends: true,
        resolve: { alias: sources({ onlyParts: true }) },
        test: { name: "cluster", include: [CLUSTER], exclude: GENERATED, fileParallelism: false },
      },
    ],
  },
});
