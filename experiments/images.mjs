/**
 * `npm run bench:images`: how large the image of an environment is, and how long it takes to build and to start.
 * Options: see suite.mjs; --base and --build-base name what it is built from instead of node:24-slim; the second needs npm.
 */

import * as images from "./cases/images.mjs";
import { BASES } from "./environment-folder.mjs";
import { runSuite } from "./suite.mjs";

await runSuite({
  title: "What an image costs",
  command: "npm run bench:images",
  report: "IMAGES.md",
  csv: "images.csv",
  experiments: { images },
  options: BASES,
  said: { "build-base": "<image with npm>" },
  createBench: (options) => ({ subjects: ["measured"], ...options, close() {} }),
  notes: () => [
    "The folder is one of `openenv init` with the environment of `envs/echo`; the base is `node:24-slim` unless `--base` " +
      "names another. The size has the base in it, whose size differs from one base to the next.",
    "First build: nothing in the cache, packages from the registry. After a change: one line of the environment is " +
      "another.",
    "Start: from `docker run` with WORKERS=4 until a reset over the WebSocket is answered.",
  ],
});
