/**
 * `npm run bench:images`: how large the image of an environment is, and how long it takes to build and to start.
 * Options: see suite.mjs; --build-base names an image with npm where node:20-slim has none.
 */
import * as images from "./experiments/images.mjs";
import { runSuite } from "./suite.mjs";

await runSuite({
  title: "What an image costs",
  command: "npm run bench:images",
  report: "IMAGES.md",
  csv: "images.csv",
  experiments: { images },
  options: { "build-base": { type: "string", default: "node:20-slim" } },
  said: { "build-base": "<image with npm>" },
  createBench: ({ quick, "build-base": base }) => ({ subjects: ["measured"], quick, base, close() {} }),
  notes: () => [
    "The folder is one of `openenv init` with the environment of `envs/echo`; the base is `node:20-slim`.",
    "First build: nothing in the cache, packages from the registry. After a change: one line of the environment is " +
      "another.",
    "Start: from `docker run` with WORKERS=4 until a reset over the WebSocket is answered.",
  ],
});
