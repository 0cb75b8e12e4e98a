/**
 * `npm run bench -- images`: the size of the image of an environment, and the time to build and start it. Options: see
 * harness/suite.mjs; --base and --build-base name what it is built from instead of node:24-slim; the second needs npm.
 */

import { runSuite } from "../harness/suite.mjs";
import { BASES } from "./environment-folder.mjs";
import * as images from "./image.mjs";

await runSuite({
  title: "Cost of an image",
  name: "images",
  parts: { images },
  options: BASES,
  said: { "build-base": "<image with npm>" },
  createBench: (options) => ({ subjects: ["measured"], ...options, close() {} }),
  notes: () => [
    "The folder is from `openenv init` with the environment of `envs/echo`; the base is `node:24-slim` unless `--base` " +
      "sets another. The size includes the base image.",
    "First build: nothing in the cache, packages from the registry. After a change: one line of the environment is " +
      "another.",
    "Start: from `docker run` with WORKERS=4 until a reset over the WebSocket is answered.",
  ],
});
